locals {
  cloud = merge(
    { GOOGLE_CLOUD_PROJECT = var.project },
    var.database == "(default)" ? {} : { FIRESTORE_DATABASE = var.database },
  )
}

output "worker_env" {
  description = "The worker's environment."
  value = merge(local.cloud, {
    WORKER_SUBSCRIPTION      = var.subscription
    WORKER_DEAD_LETTER_TOPIC = var.dead_letter_topic
    WORKER_COUNTER           = var.counter
    WORKER_MARKER_TTL        = "${24 * var.marker_ttl_days}h"
    WORKER_SHUTDOWN_GRACE    = "7s" # Cloud Run kills ten seconds after SIGTERM.
    WORKER_LISTEN            = ":8080"
  }, var.worker_env)
}

output "rollup_env" {
  description = "The rollup's environment, and that of its commands."
  value       = merge(local.cloud, { ROLLUP_COUNTER = var.counter }, var.rollup_env)
}

output "subscription_retention" {
  description = "In Pub/Sub's form."
  value       = "${86400 * var.subscription_retention_days}s"
}

output "dead_letter_retention" {
  description = "In Pub/Sub's form."
  value       = "${86400 * var.dead_letter_retention_days}s"
}
