output "worker_account" {
  description = "The worker's service account, for Workload Identity on Kubernetes."
  value       = google_service_account.worker.email
}

output "rollup_account" {
  description = "The rollup's service account, for Workload Identity on Kubernetes."
  value       = google_service_account.rollup.email
}

output "scheduler_account" {
  description = "The account that starts the jobs."
  value       = google_service_account.scheduler.email
}

output "dead_letter_subscription" {
  description = "Where the dead letters are read."
  value       = google_pubsub_subscription.dead.id
}

output "worker_env" {
  description = "The worker's settings."
  value       = module.settings.worker_env
}
