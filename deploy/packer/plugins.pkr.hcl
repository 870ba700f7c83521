# Packer 1.7 or newer installs these with `packer init`.
packer {
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = ">= 1.3"
    }
    ansible = {
      source  = "github.com/hashicorp/ansible"
      version = ">= 1.1"
    }
  }
}
