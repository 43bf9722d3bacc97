# One account for each program, with the roles that it uses, on the resource where there is one.

resource "google_service_account" "worker" {
  account_id   = "ordertally-worker"
  display_name = "Ordertally worker"
}

resource "google_service_account" "rollup" {
  account_id   = "ordertally-rollup"
  display_name = "Ordertally rollup, check and audit"
}

resource "google_service_account" "scheduler" {
  account_id   = "ordertally-scheduler"
  display_name = "Starts Ordertally's jobs"
}

# The worker receives and acknowledges.
resource "google_pubsub_subscription_iam_member" "worker_subscriber" {
  subscription = google_pubsub_subscription.worker.name
  role         = "roles/pubsub.subscriber"
  member       = google_service_account.worker.member
}

# It reads the subscription once at its start: it refuses markers that die before its messages
# (pubsub.subscriptions.get, which the subscriber's role lacks).
resource "google_pubsub_subscription_iam_member" "worker_viewer" {
  subscription = google_pubsub_subscription.worker.name
  role         = "roles/pubsub.viewer"
  member       = google_service_account.worker.member
}

# It publishes what it can never count.
resource "google_pubsub_topic_iam_member" "worker_dead_letters" {
  topic  = google_pubsub_topic.dead.name
  role   = "roles/pubsub.publisher"
  member = google_service_account.worker.member
}

# Both read and write documents: markers and shards the worker; totals, days and the audit's
# records the rollup. IAM knows no smaller part of Firestore than a database, and the condition
# keeps both out of every other one.
resource "google_project_iam_member" "documents" {
  for_each = {
    worker = google_service_account.worker.member
    rollup = google_service_account.rollup.member
  }
  project = var.project
  role    = "roles/datastore.user"
  member  = each.value

  condition {
    title      = "ordertally-database"
    expression = "resource.name == \"projects/${var.project}/databases/${var.database}\""
  }
}

# The scheduler starts the three jobs, and no other.
resource "google_cloud_run_v2_job_iam_member" "scheduler" {
  for_each = google_cloud_run_v2_job.rollup
  name     = each.value.name
  location = each.value.location
  role     = "roles/run.invoker"
  member   = google_service_account.scheduler.member
}

# Pub/Sub itself moves what was delivered too often: it publishes there and acknowledges here.
# Without both, the dead-letter policy does nothing, silently.
locals {
  pubsub_agent = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}

resource "google_pubsub_topic_iam_member" "agent_publisher" {
  topic  = google_pubsub_topic.dead.name
  role   = "roles/pubsub.publisher"
  member = local.pubsub_agent
}

resource "google_pubsub_subscription_iam_member" "agent_subscriber" {
  subscription = google_pubsub_subscription.worker.name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
}
