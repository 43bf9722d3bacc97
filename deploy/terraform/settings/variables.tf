# What the programs are told, and how long messages and markers live. No provider is needed here,
# so all of it is tested offline: terraform -chdir=deploy/terraform/settings test

variable "project" {
  description = "The Google Cloud project of the subscription and the database."
  type        = string
}

variable "database" {
  description = "The Firestore database."
  type        = string
  default     = "(default)"
}

variable "counter" {
  description = "The document below counters/ that orders are counted into."
  type        = string
  default     = "orders-today"

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]{1,128}$", var.counter))
    error_message = "A counter is named by 1 to 128 of A-Z a-z 0-9 . _ -."
  }
}

variable "subscription" {
  description = "The worker's subscription, by its short name."
  type        = string
  default     = "orders-worker"
}

variable "dead_letter_topic" {
  description = "Where the worker publishes what it can never count, and Pub/Sub what was delivered too often."
  type        = string
  default     = "orders-dead"

  validation {
    condition     = var.dead_letter_topic != ""
    error_message = "Without a dead-letter topic an invalid message comes back until its retention ends."
  }
}

variable "subscription_retention_days" {
  description = "How long the subscription keeps a message, acknowledged ones too: how far back a seek can go."
  type        = number
  default     = 7

  validation {
    condition     = var.subscription_retention_days >= 1 && var.subscription_retention_days <= 31
    error_message = "Pub/Sub keeps messages for up to 31 days; want 1 to 31."
  }
}

variable "dead_letter_retention_days" {
  description = "How long the dead letters are kept: how late one can be published again."
  type        = number
  default     = 14

  validation {
    condition     = var.dead_letter_retention_days >= 1 && var.dead_letter_retention_days <= 31
    error_message = "Pub/Sub keeps messages for up to 31 days; want 1 to 31."
  }
}

variable "marker_ttl_days" {
  description = "How long an order's marker lives. A copy that comes later is counted again."
  type        = number
  default     = 35

  validation {
    condition = var.marker_ttl_days >= (
      var.subscription_retention_days + var.dead_letter_retention_days + 1
    )
    error_message = "A marker must outlive every late copy: marker_ttl_days must be at least subscription_retention_days + dead_letter_retention_days + 1."
  }
}

variable "worker_env" {
  description = "Further WORKER_ settings. They win over those that are computed here."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.worker_env) : startswith(name, "WORKER_")])
    error_message = "The worker's settings begin with WORKER_."
  }
  validation {
    condition     = !contains(keys(var.worker_env), "WORKER_MARKER_TTL")
    error_message = "Set marker_ttl_days instead: it is checked against the retentions."
  }
}

variable "rollup_env" {
  description = "Further ROLLUP_ settings. They win over those that are computed here."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.rollup_env) : startswith(name, "ROLLUP_")])
    error_message = "The rollup's settings begin with ROLLUP_."
  }
}
