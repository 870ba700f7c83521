"""One scenario on many hosts, by the Ansible collection tickpath.fleet; one report."""
