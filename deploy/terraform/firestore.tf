resource "google_firestore_database" "orders" {
  count       = var.create_database ? 1 : 0
  name        = var.database
  location_id = var.database_location
  type        = "FIRESTORE_NATIVE"

  # Reads at a past time reach back a week, not an hour: an audit of what went wrong yesterday.
  point_in_time_recovery_enablement = "POINT_IN_TIME_RECOVERY_ENABLED"
  delete_protection_state           = "DELETE_PROTECTION_ENABLED"
  deletion_policy                   = "ABANDON"

  depends_on = [google_project_service.api]
}

# The indexes, the exemptions and the TTL policy are in one file, which the Firebase CLI reads too.
locals {
  indexes = jsondecode(file("${path.module}/../firestore.indexes.json"))
}

resource "google_firestore_field" "override" {
  for_each   = { for f in local.indexes.fieldOverrides : "${f.collectionGroup}.${f.fieldPath}" => f }
  database   = var.database
  collection = each.value.collectionGroup
  field      = each.value.fieldPath

  # Empty: no index at all.
  index_config {
    dynamic "indexes" {
      for_each = each.value.indexes
      content {
        order        = try(indexes.value.order, null)
        array_config = try(indexes.value.arrayConfig, null)
        query_scope  = try(indexes.value.queryScope, null)
      }
    }
  }
  dynamic "ttl_config" {
    for_each = try(each.value.ttl, false) ? [1] : []
    content {}
  }

  depends_on = [google_firestore_database.orders]
}

resource "google_firestore_index" "composite" {
  for_each = {
    for i in local.indexes.indexes :
    join(".", concat([i.collectionGroup], [for f in i.fields : f.fieldPath])) => i
  }
  database    = var.database
  collection  = each.value.collectionGroup
  query_scope = try(each.value.queryScope, "COLLECTION")

  dynamic "fields" {
    for_each = each.value.fields
    content {
      field_path   = fields.value.fieldPath
      order        = try(fields.value.order, null)
      array_config = try(fields.value.arrayConfig, null)
    }
  }

  depends_on = [google_firestore_database.orders]
}

# What clients may do. rules_test.go tests the file.
resource "google_firebaserules_ruleset" "clients" {
  source {
    files {
      name    = "firestore.rules"
      content = file("${path.module}/../firestore.rules")
    }
  }

  lifecycle {
    create_before_destroy = true # a ruleset in force cannot be deleted
  }
  depends_on = [google_firestore_database.orders]
}

resource "google_firebaserules_release" "clients" {
  name         = var.database == "(default)" ? "cloud.firestore" : "cloud.firestore/${var.database}"
  ruleset_name = "projects/${var.project}/rulesets/${google_firebaserules_ruleset.clients.name}"
}
