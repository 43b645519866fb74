"""keepalived: VRRP, whose master is whoever hears nobody better."""

import os
import re

from ground import NODES, Peer

ADDRESS = "10.77.0.100"     # goes with the leader
PRIORITIES = (150, 100, 50)
MASTER = '" MASTER'         # or MASTER_RX_LOWER_PRI, after the name of the instance: it is one, and heard a lesser one


class Keepalived(Peer):
    package = "keepalived"
    programs = ("keepalived",)
    contenders = ("follow",)

    def __init__(self, build, name, title, advert=None, priorities=PRIORITIES, fault="crash", **more):
        super().__init__(build)
        self.name, self.title, self.fault = name, title, fault
        self.advert, self.priorities = advert, priorities
        self.rest = 0.5 if advert else 5.0  # the one that was struck comes back, and takes over: not in the midst of a trial
        self.kills = self.left_behind = 0
        for key, value in more.items():
            setattr(self, key, value)

    def contend(self, node, lane):
        """Server and contender are one. What it is, it says into a pipe, at each change; a dead one's pipe ends."""
        folder = self.ground.folder
        pipe, conf = folder / f"{node}.pipe", folder / f"{node}.conf"
        if not pipe.exists():
            os.mkfifo(pipe, 0o600)
        version, interval = ("  vrrp_version 3\n", f"  advert_int {self.advert}\n") if self.advert else ("", "")
        conf.write_text(
            f"global_defs {{\n  router_id {node}\n  vrrp_notify_fifo {pipe}\n{version}}}\n"
            f"vrrp_instance one {{\n  interface net0\n  virtual_router_id 51\n  priority {self.priorities[NODES.index(node)]}\n"
            f"{interval}  virtual_ipaddress {{\n    {ADDRESS}/24\n  }}\n}}\n")
        self.process[node, lane] = self.ground.spawn(
            node, "keepalived", "--dont-fork", "--log-console", "--vrrp", "--use-file", conf, own_run=True)
        # To open a pipe for reading is to wait for whoever writes into it.
        self.ground.spawn(node, "sh", "-c", 'pipe=$1; shift; exec "$@" <"$pipe"', "sh", pipe,
                          self.program("follow").resolve(), self.claims_file(node, lane), MASTER)

    def has_address(self, node):
        shown = self.ground.inside(node, "ip", "-4", "addr", "show", "dev", "net0").stdout
        return re.search(rf"\b{re.escape(ADDRESS)}/", shown) is not None

    def crash(self, node, lane):
        """kill -9 of keepalived, the parent and its child together: the one would start the other again."""
        super().crash(node, lane)
        self.kills += 1

    def mend_crash(self, node, lane):
        self.left_behind += self.has_address(node)
        self.notes[:] = [f"the address stayed on the dead machine in {self.left_behind} of {self.kills}"]
        self.ground.inside(node, "ip", "addr", "del", f"{ADDRESS}/24", "dev", "net0", check=False)
        self.contend(node, lane)


def rows(build):
    return [
        Keepalived(build, "keepalived", "keepalived, defaults"),
        Keepalived(build, "keepalived-fast", "keepalived, advert_int 0.01", 0.01),
        Keepalived(build, "keepalived-close", "keepalived, advert_int 0.01, priorities 101, 100, 99", 0.01, (101, 100, 99)),
        Keepalived(build, "keepalived-cut", "keepalived, defaults: cut", fault="cut", hold=3.0),
    ]
