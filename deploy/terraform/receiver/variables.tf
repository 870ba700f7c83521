variable "offer" {
  description = "File with the owner's offer"
  type        = string
}

variable "invitation" {
  description = "Accept RAM's invitation; false within an organisation"
  type        = bool
  default     = true
}

variable "image" {
  description = "Linux with cloud-init, systemd and tickpath, ami-…"
  type        = string
}

variable "instance_type" {
  description = "Such as c7i.large"
  type        = string
}

variable "instances" {
  description = "How many; 0: the network alone"
  type        = number
  default     = 1
}

variable "key_name" {
  description = "Key pair of EC2"
  type        = string
}

variable "ssh_from" {
  description = "Your address as a network, such as 198.51.100.7/32"
  type        = string
  validation {
    condition     = can(cidrhost(var.ssh_from, 0)) && !endswith(var.ssh_from, "/0")
    error_message = "Name your own address as a network, not everybody's."
  }
}

variable "ttl_hours" {
  description = "After so many hours each instance ends itself; `apply` then makes it anew"
  type        = number
  default     = 4
  validation {
    condition     = var.ttl_hours >= 0.1
    error_message = "Instances live at least 0.1 h."
  }
}
