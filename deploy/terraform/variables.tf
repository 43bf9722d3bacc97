variable "project" {
  description = "The Google Cloud project."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "A project id is 6 to 30 of a-z 0-9 -, beginning with a letter."
  }
}

variable "region" {
  description = "The region of the worker pool, the jobs and their schedules."
  type        = string
}

variable "image" {
  description = "The image of both programs, by its digest or a tag that is never moved."
  type        = string

  validation {
    condition     = can(regex("(@sha256:[0-9a-f]{64}|:[^/:@]+)$", var.image)) && !endswith(var.image, ":latest")
    error_message = "Name the image with a tag other than latest, or a digest: a rollback names the one before."
  }
}

variable "database" {
  description = "The Firestore database."
  type        = string
  default     = "(default)"
}

variable "database_location" {
  description = "Where the database is, such as eur3. It cannot be changed later."
  type        = string
}

variable "create_database" {
  description = "False where the database exists already and is kept by somebody else."
  type        = bool
  default     = true
}

variable "create_topic" {
  description = "False where the publisher keeps the topic."
  type        = bool
  default     = true
}

variable "topic" {
  description = "The topic of accepted orders, by its short name."
  type        = string
  default     = "orders"
}

variable "workers" {
  description = "How many workers run. Each holds WORKER_MAX_OUTSTANDING messages; all share the counter's shards."
  type        = number
  default     = 2

  validation {
    condition     = var.workers >= 0 && var.workers <= 10 && floor(var.workers) == var.workers
    error_message = "Want 0 to 10 workers: more of them contend for the same shards."
  }
}

variable "notification_channels" {
  description = "Where alerts go: names of Cloud Monitoring notification channels."
  type        = list(string)
  default     = []
}

variable "runbook" {
  description = "The address of docs/runbook.md, which each alert links."
  type        = string
  default     = "docs/runbook.md"
}

# The rest goes to the settings as it is, which check it (settings/variables.tf).

variable "counter" {
  description = "The document below counters/ that orders are counted into."
  type        = string
  default     = "orders-today"
}

variable "subscription" {
  description = "The worker's subscription, by its short name."
  type        = string
  default     = "orders-worker"
}

variable "dead_letter_topic" {
  description = "The topic of dead letters, by its short name."
  type        = string
  default     = "orders-dead"
}

variable "subscription_retention_days" {
  description = "How long the subscription keeps a message."
  type        = number
  default     = 7
}

variable "dead_letter_retention_days" {
  description = "How long the dead letters are kept."
  type        = number
  default     = 14
}

variable "marker_ttl_days" {
  description = "How long an order's marker lives: at least both retentions and a day."
  type        = number
  default     = 35
}

variable "worker_env" {
  description = "Further WORKER_ settings."
  type        = map(string)
  default     = {}
}
