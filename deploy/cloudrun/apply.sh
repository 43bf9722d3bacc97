#!/usr/bin/env bash
# Puts the worker pool, the jobs and their schedules in force, in the project of gcloud's own
# configuration:
#
#   deploy/cloudrun/apply.sh REGION SCHEDULER_SERVICE_ACCOUNT
#
# The files name my-project and image :1; put yours there first. The schedules are created, or
# brought up to date where they exist.
set -euo pipefail
cd "$(dirname "$0")"
if [ $# -ne 2 ]; then
  echo "usage: apply.sh REGION SCHEDULER_SERVICE_ACCOUNT" >&2
  exit 2
fi
region=$1 account=$2
project=$(gcloud config get-value project)

# schedule JOB CRON starts the Cloud Run job ordertally-JOB by the clock.
schedule() {
  local verb=create
  if gcloud scheduler jobs describe "ordertally-$1" --location "$region" >/dev/null 2>&1; then
    verb=update
  fi
  gcloud scheduler jobs "$verb" http "ordertally-$1" --location "$region" \
    --schedule "$2" --time-zone Etc/UTC --http-method post --max-retry-attempts 0 \
    --uri "https://run.googleapis.com/v2/projects/$project/locations/$region/jobs/ordertally-$1:run" \
    --oauth-service-account-email "$account"
}

gcloud beta run worker-pools replace worker-pool.yaml --region "$region"
for job in rollup check audit; do
  gcloud run jobs replace "$job-job.yaml" --region "$region"
done
schedule rollup '* * * * *'
schedule check '*/5 * * * *'
schedule audit '17 3 * * *'
