variable "name" {
  description = "Name of the placement group's grant: a-z, 0-9 and -"
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{0,40}$", var.name))
    error_message = "Use a-z, 0-9 and -, at most 41 characters."
  }
}

variable "vpc" {
  description = "VPC of the gateways"
  type        = string
}

variable "subnet" {
  description = "Subnet of the gateways; its zone is the group's"
  type        = string
}

variable "ports" {
  description = "TCP ports of the gateways that receivers may reach"
  type        = list(number)
}

variable "feed_ports" {
  description = "UDP ports at the receivers to which the exchange sends market data"
  type        = list(number)
  default     = []
}

variable "permission_arn" {
  description = "RAM permission: `aws ram list-permissions --resource-type ec2:PlacementGroup`"
  type        = string
}

variable "actions" {
  description = "Actions of that permission, for the offers"
  type        = list(string)
  default     = ["ec2:DescribePlacementGroups", "ec2:RunInstances"]
}

variable "grants" {
  description = "By name: to (account or ARN), account, cidr of the receiver's VPC, expires (UTC)"
  type = map(object({
    to      = string
    account = string
    cidr    = string
    expires = string
    vpc     = optional(string)
  }))
  default = {}
  validation {
    condition     = alltrue([for g in var.grants : can(cidrhost(g.cidr, 0))])
    error_message = "The cidr of a grant is a network such as 10.64.0.0/24."
  }
  validation {
    condition = alltrue([
      for g in var.grants : can(regex("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$", g.expires))
    ])
    error_message = "Write expires as 2027-01-31T00:00:00Z."
  }
}

variable "reconciler_template" {
  description = "File that `tickpath cloud share template` printed; null: it runs elsewhere"
  type        = string
  default     = null
}
