"""One host of the namespace tests: process 1 of its own namespaces. `host.py DIRECTORY ADDRESS`.

DIRECTORY holds sshd's keys, the user data, and a `shutdown` that writes down its minutes instead:
the tests' clock, not this machine's, says when they are over. Nothing here can reach the real one.
"""

import os
import subprocess
import sys
from pathlib import Path

directory, address = Path(sys.argv[1]), sys.argv[2]
bin_dir = directory / "bin"
bin_dir.mkdir(exist_ok=True)
shutdown = bin_dir / "shutdown"
shutdown.write_text(f"""#!/bin/sh
[ "$1" = -P ] && echo "$2" >> {directory}/timer
mkdir -p /run/systemd/shutdown && echo MODE=poweroff > /run/systemd/shutdown/scheduled
""")
shutdown.chmod(0o755)
for real in {Path(p).resolve() for p in ("/sbin/shutdown", "/sbin/reboot", "/sbin/poweroff")}:
    if real.exists():
        subprocess.run(["mount", "--bind", shutdown, real], check=True)
# No log-in scripts of this machine's: those of a version manager took seconds, and its lock.
# No settings of this machine's either: /var/lib has the journal of `tune`.
# No units either: the user data writes one.
for place in ("/mnt", "/run", "/var/lib", "/etc/systemd/system", os.path.expanduser("~")):
    if os.path.isdir(place):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
if (directory / "boot_id").exists():
    own = ["mount", "--bind", directory / "boot_id", "/proc/sys/kernel/random/boot_id"]
    subprocess.run(own, check=True)
os.makedirs("/run/sshd")
path = f"{bin_dir}:/usr/sbin:/usr/bin:/sbin:/bin"
(directory / "sshd.conf").write_text(f"""
Port 2222
ListenAddress {address}
HostKey {directory.parent}/hostkey
AuthorizedKeysFile {directory.parent}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
SetEnv PATH={path} TICKPATH_LOCKS={directory} TICKPATH_SETTLE_SECONDS=0
Subsystem sftp internal-sftp
""")
environment = {"PATH": path}
subprocess.run(["sh", directory / "user-data"], env=environment, check=True)
os.execve(
    "/usr/sbin/sshd",
    ["/usr/sbin/sshd", "-D", "-f", str(directory / "sshd.conf"), "-E", str(directory / "log")],
    environment,
)
