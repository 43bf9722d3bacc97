# What Cloud Monitoring knows without being told: the subscriptions and the jobs. What only the
# worker's own metrics show is in ../prometheus/alerts.yaml. The names are the runbook's.

locals {
  alerts = {
    OrdertallyOldestMessage = {
      filter    = "resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = \"${var.subscription}\" AND metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\""
      threshold = 300
      duration  = "300s"
      aligner   = "ALIGN_MAX"
    }
    OrdertallyDeadLetters = {
      filter    = "resource.type = \"pubsub_subscription\" AND resource.labels.subscription_id = \"${google_pubsub_subscription.dead.name}\" AND metric.type = \"pubsub.googleapis.com/subscription/num_undelivered_messages\""
      threshold = 0
      duration  = "0s"
      aligner   = "ALIGN_MAX"
    }
    OrdertallyRollupStale = {
      filter    = "resource.type = \"cloud_run_job\" AND resource.labels.job_name = \"ordertally-check\" AND metric.type = \"run.googleapis.com/job/completed_execution_count\" AND metric.labels.result = \"failed\""
      threshold = 0
      duration  = "0s"
      aligner   = "ALIGN_DELTA"
    }
    OrdertallyDrift = {
      filter    = "resource.type = \"cloud_run_job\" AND resource.labels.job_name = \"ordertally-audit\" AND metric.type = \"run.googleapis.com/job/completed_execution_count\" AND metric.labels.result = \"failed\""
      threshold = 0
      duration  = "0s"
      aligner   = "ALIGN_DELTA"
    }
  }
}

resource "google_monitoring_alert_policy" "alert" {
  for_each              = local.alerts
  display_name          = each.key
  combiner              = "OR"
  notification_channels = var.notification_channels

  conditions {
    display_name = each.key

    condition_threshold {
      filter          = each.value.filter
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.threshold
      duration        = each.value.duration

      aggregations {
        alignment_period   = "60s"
        per_series_aligner = each.value.aligner
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "What it means and what to do: ${var.runbook}#${lower(each.key)}"
  }

  depends_on = [google_project_service.api]
}
