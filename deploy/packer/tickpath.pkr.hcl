# An image with tickpath and its settings, baked by the roles that tune a fleet:
#   packer init deploy/packer && packer build -var source_ami=ami-0abc deploy/packer
variable "region" {
  type    = string
  default = "eu-west-1"
}

variable "source_ami" {
  type        = string
  description = "A Linux image with Python 3."
}

variable "ssh_username" {
  type    = string
  default = "ubuntu"
}

variable "binary" {
  type    = string
  default = "target/release/tickpath"
}

variable "profile" {
  type        = string
  default     = "tick-to-trade"
  description = "A profile of `tickpath tune`."
}

locals {
  stamp = formatdate("YYYYMMDD-hhmmss", timestamp())
}

source "amazon-ebs" "tickpath" {
  region        = var.region
  source_ami    = var.source_ami
  instance_type = "c7i.large"
  ssh_username  = var.ssh_username
  ami_name      = "tickpath-${local.stamp}"

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }
  imds_support = "v2.0"

  tags = {
    "tickpath:profile" = var.profile
  }
}

build {
  sources = ["source.amazon-ebs.tickpath"]

  provisioner "ansible" {
    playbook_file    = "${path.root}/../ansible_collections/tickpath/fleet/playbooks/image.yml"
    ansible_env_vars = ["ANSIBLE_COLLECTIONS_PATH=${abspath("${path.root}/..")}"]
    extra_arguments = [
      "-e", "tickpath_fleet_binary=${abspath(var.binary)}",
      "-e", "tickpath_tune_profile=${var.profile}",
    ]
  }
}
