terraform {
  required_version = ">= 1.9"

  required_providers {
    google = {
      source = "hashicorp/google"
      # 7.10 has the probes of worker pools.
      version = "~> 7.10"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region
}
