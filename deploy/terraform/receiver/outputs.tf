output "peering" {
  description = "The request that the owner's reconciler accepts"
  value       = aws_vpc_peering_connection.exchange.id
}

output "addresses" {
  description = "Where ssh reaches the instances"
  value       = aws_instance.own[*].public_ip
}
