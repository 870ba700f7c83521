# The market maker's side of `tickpath cloud share`: what `share accept` makes, from the same offer.
# The owner's reconciler then accepts the peering.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0"
    }
  }
}

locals {
  offer = jsondecode(file(var.offer))
  tags = {
    "tickpath:hunt"    = "share-${local.offer.grant}"
    "tickpath:role"    = "network"
    "tickpath:expires" = local.offer.expires
  }
}

data "aws_caller_identity" "receiver" {
  lifecycle {
    postcondition {
      condition     = self.account_id == local.offer.account
      error_message = "The offer is for another account than these credentials are of."
    }
  }
}

data "aws_region" "here" {
  lifecycle {
    postcondition {
      condition     = self.region == local.offer.region
      error_message = "The offer is for another region than the provider's."
    }
  }
}

# Within an organisation there is no invitation.
resource "aws_ram_resource_share_accepter" "invitation" {
  count     = var.invitation ? 1 : 0
  share_arn = local.offer.share
}

resource "aws_vpc" "own" {
  cidr_block = local.offer.cidr
  tags       = local.tags
  depends_on = [data.aws_caller_identity.receiver, data.aws_region.here]
}

data "aws_availability_zone" "group" {
  zone_id = local.offer.zone_id
}

resource "aws_subnet" "own" {
  vpc_id            = aws_vpc.own.id
  cidr_block        = local.offer.cidr
  availability_zone = data.aws_availability_zone.group.name
  tags              = local.tags
}

resource "aws_internet_gateway" "ssh" {
  vpc_id = aws_vpc.own.id
  tags   = local.tags
}

resource "aws_vpc_peering_connection" "exchange" {
  vpc_id        = aws_vpc.own.id
  peer_vpc_id   = local.offer.owner_vpc
  peer_owner_id = local.offer.owner
  tags          = local.tags
}

resource "aws_route_table" "own" {
  vpc_id = aws_vpc.own.id
  tags   = local.tags
}

resource "aws_route_table_association" "own" {
  subnet_id      = aws_subnet.own.id
  route_table_id = aws_route_table.own.id
}

resource "aws_route" "exchange" {
  for_each                  = toset(local.offer.owner_cidrs)
  route_table_id            = aws_route_table.own.id
  destination_cidr_block    = each.value
  vpc_peering_connection_id = aws_vpc_peering_connection.exchange.id
}

resource "aws_route" "world" {
  route_table_id         = aws_route_table.own.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.ssh.id
}

resource "aws_security_group" "own" {
  name        = "tickpath-share-${local.offer.grant}"
  description = "instances beside an exchange"
  vpc_id      = aws_vpc.own.id
  tags        = local.tags
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  security_group_id = aws_security_group.own.id
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
  cidr_ipv4         = var.ssh_from
}

resource "aws_vpc_security_group_ingress_rule" "feed" {
  for_each = {
    for pair in setproduct(local.offer.feed_ports, local.offer.owner_cidrs) :
    "${pair[0]} from ${pair[1]}" => pair
  }
  security_group_id = aws_security_group.own.id
  ip_protocol       = "udp"
  from_port         = each.value[0]
  to_port           = each.value[0]
  cidr_ipv4         = each.value[1]
}

resource "aws_vpc_security_group_egress_rule" "all" {
  security_group_id = aws_security_group.own.id
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}

data "aws_ami" "own" {
  filter {
    name   = "image-id"
    values = [var.image]
  }
}

# A group of another account is known by its id, which a launch template takes.
resource "aws_launch_template" "own" {
  name_prefix                          = "tickpath-share-${local.offer.grant}-"
  image_id                             = var.image
  instance_type                        = var.instance_type
  key_name                             = var.key_name
  instance_initiated_shutdown_behavior = "terminate"
  user_data = base64encode(templatefile("${path.module}/end.sh.tftpl", {
    minutes = floor(60 * var.ttl_hours)
  }))
  tags = local.tags

  placement {
    group_id = local.offer.group
  }

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  # Volumes end with their instance, whatever the image says.
  dynamic "block_device_mappings" {
    for_each = [for b in data.aws_ami.own.block_device_mappings : b if can(b.ebs.volume_size)]
    content {
      device_name = block_device_mappings.value.device_name
      ebs {
        delete_on_termination = true
      }
    }
  }

  network_interfaces {
    device_index                = 0
    subnet_id                   = aws_subnet.own.id
    security_groups             = [aws_security_group.own.id]
    associate_public_ip_address = true
  }

  dynamic "tag_specifications" {
    for_each = ["instance", "volume", "network-interface"]
    content {
      resource_type = tag_specifications.value
      tags          = merge(local.tags, { "tickpath:role" = "receiver" })
    }
  }
}

resource "aws_instance" "own" {
  count = var.instances
  launch_template {
    id      = aws_launch_template.own.id
    version = aws_launch_template.own.latest_version
  }
  tags       = merge(local.tags, { "tickpath:role" = "receiver" })
  depends_on = [aws_ram_resource_share_accepter.invitation]
}
