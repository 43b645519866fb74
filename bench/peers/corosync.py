"""corosync provides membership and quorum, but no leader. Here the lowest node of a process group leads."""

from testbed import NODES, Peer


class Corosync(Peer):
    package = "corosync"
    programs = ("corosync",)
    contenders = ("cpg_elect",)

    def __init__(self, build, name, title, totem="", fault="crash", **more):
        super().__init__(build)
        self.name, self.title, self.totem, self.fault = name, title, totem, fault
        for key, value in more.items():
            setattr(self, key, value)

    def prepare(self):
        self.conf = self.testbed.folder / "corosync.conf"
        for node in NODES:
            (self.testbed.folder / f"shared-{node}").mkdir()
        nodes = "".join(f"  node {{\n    name: {n}\n    nodeid: {i + 1}\n    ring0_addr: {self.testbed.address(n)}\n  }}\n"
                        for i, n in enumerate(NODES))
        self.conf.write_text(
            f"totem {{\n  version: 2\n  cluster_name: bench\n  crypto_cipher: none\n  crypto_hash: none\n{self.totem}}}\n"
            "logging {\n  to_stderr: yes\n  to_logfile: no\n  to_syslog: no\n}\n"
            "quorum {\n  provider: corosync_votequorum\n}\n"
            "system {\n  state_dir: /run\n}\n"
            f"nodelist {{\n{nodes}}}\n")

    def boot(self, node):
        self.process[node] = self.testbed.spawn(node, "corosync", "-f", "-c", self.conf.name, own_run=True,
                                               shared=f"shared-{node}")

    def contend(self, node, lane):
        self.process[node, lane] = self.testbed.spawn(
            node, self.program("cpg_elect").resolve(), self.claims_file(node, lane).name, f"lane-{lane}", len(NODES),
            shared=f"shared-{node}")

    def crash(self, node, lane):
        """kill -9 of corosync and of the contender, which cannot work without it."""
        self.testbed.kill(self.process.pop(node), self.process.pop((node, lane)))
        self.claims[node, lane].died()

    def repair_crash(self, node, lane):
        self.boot(node)
        self.contend(node, lane)

    def crash_client(self, node, lane):
        """kill -9 of the contender only. The local corosync sees the closed connection and tells the other machines."""
        super().crash(node, lane)

    def repair_crash_client(self, node, lane):
        self.contend(node, lane)


def rows(build):
    fastest = "  transport: udpu\n  token: 60\n  token_coefficient: 0\n  token_retransmits_before_loss_const: 1\n"
    return [
        Corosync(build, "corosync", "corosync, defaults, lowest of a process group"),
        Corosync(build, "corosync-fast", "corosync, token 60 ms, udpu", fastest),
        Corosync(build, "corosync-client", "corosync, defaults: kill -9 of the contender alone", fault="crash_client"),
        Corosync(build, "corosync-cut", "corosync, defaults: cut", fault="cut"),
    ]
