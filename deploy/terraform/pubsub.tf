resource "google_pubsub_topic" "orders" {
  count = var.create_topic ? 1 : 0
  name  = var.topic

  depends_on = [google_project_service.api]
}

resource "google_pubsub_subscription" "worker" {
  name  = var.subscription
  topic = var.create_topic ? google_pubsub_topic.orders[0].id : "projects/${var.project}/topics/${var.topic}"

  # Off, both: markers count each order once whatever the delivery does, and either costs latency
  # and throughput. With ordering, a group commit would hold one message of each key.
  enable_exactly_once_delivery = false
  enable_message_ordering      = false

  ack_deadline_seconds       = 60
  message_retention_duration = module.settings.subscription_retention
  retain_acked_messages      = true # what a seek replays

  expiration_policy {
    ttl = "" # never: an idle shop must not lose its subscription
  }

  # Each message of a worker that was killed, or that nacked at the end of its grace, has used up an
  # attempt, hence 20. A body that is no order does not wait for them: the worker publishes it there.
  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }
  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.dead.id
    max_delivery_attempts = 20
  }
}

resource "google_pubsub_topic" "dead" {
  name = var.dead_letter_topic

  depends_on = [google_project_service.api]
}

# A topic without a subscription loses what is published to it.
resource "google_pubsub_subscription" "dead" {
  name  = "${var.dead_letter_topic}-sub"
  topic = google_pubsub_topic.dead.id

  ack_deadline_seconds       = 60
  message_retention_duration = module.settings.dead_letter_retention

  expiration_policy {
    ttl = ""
  }
}
