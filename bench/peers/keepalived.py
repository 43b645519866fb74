"""keepalived implements VRRP: a machine becomes master if it hears no machine with a higher priority."""

import os
import re

from testbed import NODES, Peer

ADDRESS = "10.77.0.100"
PRIORITIES = (150, 100, 50)
# keepalived writes the instance's name, then its state. This matches both MASTER and MASTER_RX_LOWER_PRI, the state of a master
# that has received a lower priority.
MASTER = '" MASTER'


class Keepalived(Peer):
    package = "keepalived"
    programs = ("keepalived",)
    contenders = ("follow",)

    def __init__(self, build, name, title, advert=None, priorities=PRIORITIES, fault="crash", **more):
        super().__init__(build)
        self.name, self.title, self.fault = name, title, fault
        self.advert, self.priorities = advert, priorities
        self.rest = 0.5 if advert else 5.0  # a returning old leader takes over, which must not happen during a trial
        self.kills = self.left_behind = 0
        for key, value in more.items():
            setattr(self, key, value)

    def contend(self, node, lane):
        """Starts keepalived, which is both server and contender. It writes its state to a pipe at each change. The pipe's reader
        sees the end of its input when keepalived exits."""
        folder = self.testbed.folder
        pipe, conf = folder / f"{node}.pipe", folder / f"{node}.conf"
        if not pipe.exists():
            os.mkfifo(pipe, 0o600)
        version, interval = ("  vrrp_version 3\n", f"  advert_int {self.advert}\n") if self.advert else ("", "")
        conf.write_text(
            f"global_defs {{\n  router_id {node}\n  vrrp_notify_fifo {pipe}\n{version}}}\n"
            f"vrrp_instance one {{\n  interface net0\n  virtual_router_id 51\n  priority {self.priorities[NODES.index(node)]}\n"
            f"{interval}  virtual_ipaddress {{\n    {ADDRESS}/24\n  }}\n}}\n")
        self.process[node, lane] = self.testbed.spawn(
            node, "keepalived", "--dont-fork", "--log-console", "--vrrp", "--use-file", conf, own_run=True)
        # The shell opens the pipe itself, because the open waits until keepalived opens it for writing.
        self.testbed.spawn(node, "sh", "-c", 'pipe=$1; shift; exec "$@" <"$pipe"', "sh", pipe,
                          self.program("follow").resolve(), self.claims_file(node, lane), MASTER)

    def has_address(self, node):
        shown = self.testbed.inside(node, "ip", "-4", "addr", "show", "dev", "net0").stdout
        return re.search(rf"\b{re.escape(ADDRESS)}/", shown) is not None

    def crash(self, node, lane):
        """kill -9 of keepalived and its child. keepalived would restart the child if only that were killed."""
        super().crash(node, lane)
        self.kills += 1

    def repair_crash(self, node, lane):
        self.left_behind += self.has_address(node)
        self.notes[:] = [f"the virtual address stayed on the killed machine in {self.left_behind} of {self.kills} trials"]
        self.testbed.inside(node, "ip", "addr", "del", f"{ADDRESS}/24", "dev", "net0", check=False)
        self.contend(node, lane)


def rows(build):
    return [
        Keepalived(build, "keepalived", "keepalived, defaults"),
        Keepalived(build, "keepalived-fast", "keepalived, advert_int 0.01", 0.01),
        Keepalived(build, "keepalived-close", "keepalived, advert_int 0.01, priorities 101, 100, 99", 0.01, (101, 100, 99)),
        Keepalived(build, "keepalived-cut", "keepalived, defaults: cut", fault="cut", hold=3.0),
    ]
