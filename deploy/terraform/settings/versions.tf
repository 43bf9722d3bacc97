terraform {
  required_version = ">= 1.9" # validation may refer to other variables
}
