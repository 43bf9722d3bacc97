variables {
  project = "my-project"
}

run "defaults" {
  command = plan

  assert {
    condition     = output.worker_env.WORKER_MARKER_TTL == "840h"
    error_message = "35 days are 840h, got ${output.worker_env.WORKER_MARKER_TTL}"
  }
  assert {
    condition     = output.subscription_retention == "604800s"
    error_message = "7 days are 604800s, got ${output.subscription_retention}"
  }
  assert {
    condition     = !contains(keys(output.worker_env), "FIRESTORE_DATABASE")
    error_message = "the default database needs no setting"
  }
}

run "longest_retention" {
  command = plan

  variables {
    subscription_retention_days = 31
    dead_letter_retention_days  = 31
    marker_ttl_days             = 63
  }
  assert {
    condition     = output.worker_env.WORKER_MARKER_TTL == "1512h"
    error_message = "63 days are 1512h, got ${output.worker_env.WORKER_MARKER_TTL}"
  }
}

run "marker_that_dies_a_day_too_early" {
  command = plan

  variables {
    subscription_retention_days = 31
    dead_letter_retention_days  = 31
    marker_ttl_days             = 62
  }
  expect_failures = [var.marker_ttl_days]
}

run "retention_that_pubsub_does_not_have" {
  command = plan

  variables {
    subscription_retention_days = 32
    marker_ttl_days             = 63
  }
  expect_failures = [var.subscription_retention_days]
}

run "ttl_past_the_check" {
  command = plan

  variables {
    worker_env = { WORKER_MARKER_TTL = "1h" }
  }
  expect_failures = [var.worker_env]
}

run "foreign_setting" {
  command = plan

  variables {
    worker_env = { ROLLUP_EVERY = "1m" }
  }
  expect_failures = [var.worker_env]
}

run "no_dead_letters" {
  command = plan

  variables {
    dead_letter_topic = ""
  }
  expect_failures = [var.dead_letter_topic]
}

run "another_database" {
  command = plan

  variables {
    database = "orders"
  }
  assert {
    condition = (output.worker_env.FIRESTORE_DATABASE == "orders" &&
    output.rollup_env.FIRESTORE_DATABASE == "orders")
    error_message = "both programs must use the database"
  }
}
