# The exchange's side of `tickpath cloud share`: a cluster placement group, a share of RAM for each
# grant, and the reconciler that lets receivers in. The tags of a share are the grant.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0"
    }
  }
}

data "aws_caller_identity" "owner" {}

data "aws_region" "here" {}

data "aws_vpc" "gateways" {
  id = var.vpc
}

data "aws_subnet" "gateways" {
  id = var.subnet
}

resource "aws_placement_group" "shared" {
  name     = "tickpath-${var.name}"
  strategy = "cluster"
  tags     = { "tickpath:grant" = var.name }
}

resource "aws_ram_resource_share" "grant" {
  for_each                  = var.grants
  name                      = "tickpath-${each.key}"
  allow_external_principals = !strcontains(each.value.to, ":organizations:")
  permission_arns           = [var.permission_arn]
  tags = merge({
    "tickpath:grant"     = each.key
    "tickpath:principal" = each.value.to
    "tickpath:account"   = each.value.account
    "tickpath:cidr"      = each.value.cidr
    "tickpath:expires"   = each.value.expires
  }, each.value.vpc == null ? {} : { "tickpath:vpc" = each.value.vpc })
}

resource "aws_ram_resource_association" "group" {
  for_each           = var.grants
  resource_arn       = aws_placement_group.shared.arn
  resource_share_arn = aws_ram_resource_share.grant[each.key].arn
}

resource "aws_ram_principal_association" "receiver" {
  for_each           = var.grants
  principal          = each.value.to
  resource_share_arn = aws_ram_resource_share.grant[each.key].arn
}

# `tickpath cloud share template owner.toml > reconciler.yaml`: its code, its role, and its log.
resource "aws_cloudformation_stack" "reconciler" {
  count         = var.reconciler_template == null ? 0 : 1
  name          = "tickpath-reconciler-${var.name}"
  template_body = file(var.reconciler_template)
  capabilities  = ["CAPABILITY_IAM"]
}
