# Everything that Ordertally needs in a project, but the image and who may deploy it.
#
#   terraform init
#   terraform apply -var project=my-project -var region=europe-west1 \
#     -var database_location=eur3 -var image=europe-docker.pkg.dev/my-project/ordertally/ordertally:1

module "settings" {
  source = "./settings"

  project                     = var.project
  database                    = var.database
  counter                     = var.counter
  subscription                = var.subscription
  dead_letter_topic           = var.dead_letter_topic
  subscription_retention_days = var.subscription_retention_days
  dead_letter_retention_days  = var.dead_letter_retention_days
  marker_ttl_days             = var.marker_ttl_days
  worker_env                  = var.worker_env
}

data "google_project" "this" {
  project_id = var.project
}

resource "google_project_service" "api" {
  for_each = toset([
    "cloudscheduler.googleapis.com",
    "firebaserules.googleapis.com",
    "firestore.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
  ])
  service            = each.key
  disable_on_destroy = false # others in the project may use it
}
