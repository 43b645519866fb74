"""ZooKeeper: three servers, and ZooKeeper's recipe for leader election with its own C client."""

import os

from testbed import NODES, Peer

CLIENTS, FOLLOWERS, ELECTIONS = 2181, 2888, 3888
JAR = "/usr/share/java/zookeeper.jar"
LOGGING = """log4j.rootLogger=WARN, CONSOLE
log4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender
log4j.appender.CONSOLE.layout=org.apache.log4j.PatternLayout
log4j.appender.CONSOLE.layout.ConversionPattern=%d{ISO8601} %p %m%n
"""


class ZooKeeper(Peer):
    package = "zookeeper"
    programs = ("java",)
    contenders = ("zk_elect",)

    def __init__(self, build, name, title, tick, session, limits=(10, 5), **more):
        super().__init__(build)
        self.name, self.title, self.tick, self.session, self.limits = name, title, tick, session, limits
        self.phase = session / 1000
        for key, value in more.items():
            setattr(self, key, value)

    def missing(self):
        return super().missing() or (None if os.path.exists(JAR) else f"{JAR} does not exist: run make deps-failover")

    def boot(self, node):
        place = self.testbed.folder / f"zookeeper-{node}"
        place.mkdir()
        (place / "myid").write_text(f"{NODES.index(node) + 1}\n")
        (place / "log4j.properties").write_text(LOGGING)
        lines = [f"tickTime={self.tick}", f"initLimit={self.limits[0]}", f"syncLimit={self.limits[1]}", f"dataDir={place}",
                 f"clientPort={CLIENTS}", "admin.enableServer=false", "maxClientCnxns=0"]
        lines += [f"server.{i + 1}={self.testbed.address(n)}:{FOLLOWERS}:{ELECTIONS}" for i, n in enumerate(NODES)]
        (place / "zoo.cfg").write_text("\n".join(lines) + "\n")
        self.process[node] = self.testbed.spawn(
            node, "java", "-Xmx256m", "-Dzookeeper.jmx.log4j.disable=true", "-cp", f"{place}:{JAR}",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", place / "zoo.cfg")

    def contend(self, node, lane):
        servers = ",".join(f"{self.testbed.address(n)}:{CLIENTS}" for n in NODES)
        self.process[node, lane] = self.testbed.spawn(
            node, self.program("zk_elect").resolve(), self.claims_file(node, lane), servers, f"/lane-{lane}", self.session,
            log=f"{node}-contender.log")


def rows(build):
    return [
        ZooKeeper(build, "zookeeper-30s", "ZooKeeper recipe, tickTime 2000, session 30 s", 2000, 30_000,
                  slow=True, lanes=20, phase=10.0, limit=90),
        ZooKeeper(build, "zookeeper", "ZooKeeper recipe, tickTime 2000, shortest session 4 s", 2000, 4000),
        # In ticks. The default limits with such short ticks would leave the servers only 500 ms to synchronise.
        ZooKeeper(build, "zookeeper-tick50", "ZooKeeper recipe, tickTime 50, shortest session 100 ms", 50, 100,
                  limits=(200, 100), phase=1.0),
        # A server that is cut off answers its clients for another syncLimit ticks (10 s with Debian's zoo.cfg). This exceeds the
        # session, so its clients do not learn that theirs has expired.
        ZooKeeper(build, "zookeeper-cut", "ZooKeeper recipe, tickTime 2000, shortest session 4 s: cut", 2000, 4000, fault="cut",
                  hold=10.0),
    ]
