# Send each receiver its offer as a file; it holds no secret and grants nothing.
output "offers" {
  description = "By grant: JSON for `tickpath cloud share accept`, or for the receiver's module"
  value = {
    for name, grant in var.grants : name => jsonencode({
      schema      = 1
      grant       = name
      region      = data.aws_region.here.region
      owner       = data.aws_caller_identity.owner.account_id
      owner_vpc   = var.vpc
      owner_cidrs = data.aws_vpc.gateways.cidr_block_associations[*].cidr_block
      share       = aws_ram_resource_share.grant[name].arn
      group       = aws_placement_group.shared.placement_group_id
      group_arn   = aws_placement_group.shared.arn
      zone_id     = data.aws_subnet.gateways.availability_zone_id
      account     = grant.account
      principal   = grant.to
      cidr        = grant.cidr
      ports       = var.ports
      feed_ports  = var.feed_ports
      actions     = var.actions
      expires     = grant.expires
    })
  }
}
