resource "google_cloud_run_v2_worker_pool" "worker" {
  name     = "ordertally-worker"
  location = var.region

  scaling {
    manual_instance_count = var.workers
  }

  template {
    service_account = google_service_account.worker.email

    containers {
      image   = var.image
      command = ["/worker"]

      dynamic "env" {
        for_each = module.settings.worker_env
        content {
          name  = env.key
          value = env.value
        }
      }
      resources {
        limits = {
          cpu    = "1"
          memory = "512Mi"
        }
      }
      # A revision that cannot read its subscription or its counter never becomes ready, and the
      # one before it goes on.
      startup_probe {
        http_get {
          path = "/readyz"
          port = 8080
        }
        period_seconds    = 10
        timeout_seconds   = 2
        failure_threshold = 18
      }
      liveness_probe {
        http_get {
          path = "/livez"
          port = 8080
        }
        period_seconds    = 10
        timeout_seconds   = 2
        failure_threshold = 3
      }
    }
  }

  depends_on = [
    google_project_service.api,
    google_project_iam_member.documents,
    google_pubsub_subscription_iam_member.worker_subscriber,
    google_pubsub_subscription_iam_member.worker_viewer,
    google_pubsub_topic_iam_member.worker_dead_letters,
  ]
}

# One program, three jobs: what it is told to do, how often, and how long it may take.
locals {
  jobs = {
    rollup = { args = [], schedule = "* * * * *", timeout = "55s" }
    check  = { args = ["check", "-max-age", "5m"], schedule = "*/5 * * * *", timeout = "60s" }
    audit  = { args = ["audit", "-timeout", "50m"], schedule = "17 3 * * *", timeout = "3600s" }
  }
}

resource "google_cloud_run_v2_job" "rollup" {
  for_each = local.jobs
  name     = "ordertally-${each.key}"
  location = var.region

  template {
    task_count = 1

    template {
      service_account = google_service_account.rollup.email
      max_retries     = 0 # the next run is the retry
      timeout         = each.value.timeout

      containers {
        image   = var.image
        command = ["/rollup"]
        args    = each.value.args

        dynamic "env" {
          for_each = module.settings.rollup_env
          content {
            name  = env.key
            value = env.value
          }
        }
        resources {
          limits = {
            cpu    = "1"
            memory = "512Mi"
          }
        }
      }
    }
  }

  depends_on = [google_project_service.api, google_project_iam_member.documents]
}

resource "google_cloud_scheduler_job" "rollup" {
  for_each  = local.jobs
  name      = "ordertally-${each.key}"
  region    = var.region
  schedule  = each.value.schedule
  time_zone = "Etc/UTC"

  retry_config {
    retry_count = 0
  }
  http_target {
    http_method = "POST"
    uri         = "https://run.googleapis.com/v2/${google_cloud_run_v2_job.rollup[each.key].id}:run"

    oauth_token {
      service_account_email = google_service_account.scheduler.email
    }
  }

  depends_on = [google_project_service.api]
}
