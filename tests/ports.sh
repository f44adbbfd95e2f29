# Where a test's processes meet: `port`, and the 99 after it. To be sourced.
# Below the ports that Linux gives to outgoing connections (net.ipv4.ip_local_port_range), each of
# which is taken for a minute after the connection's end.
port=$((20000 + $$ % 120 * 100))
