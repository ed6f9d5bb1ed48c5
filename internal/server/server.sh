#!/usr/bin/env bash
# Starts and stops a database server for tests. It has a free port of 127.0.0.1, and its files in DIR.
#
#   server.sh start redis|mariadb|postgres DIR [ARGUMENT...]   prints the port; the arguments go to the server
#   server.sh stop DIR                                        as an operator stops it
#   server.sh kill DIR                                        at once: kill -9
#
# A server that is started again with the same DIR has the same port and the same data.
# The exit code 3 means: not installed. Debian: apt-get install redis-server mariadb-server postgresql
set -euo pipefail

missing() {
  echo "$1 is not installed (Debian: apt-get install $2)" >&2
  exit 3
}

# running PID... tells whether any of these processes runs. A zombie does not count.
running() { ps -o stat= -p "$*" | grep -q '^[^Z]'; }

# family PID prints a process and all processes that it has started, also outside of its group.
family() {
  ps -eo pid=,ppid= | awk -v first="$1" '
    { child[$2] = child[$2] " " $1 }
    function show(pid,   n, i, list) { print pid; n = split(child[pid], list, " "); for (i = 1; i <= n; i++) show(list[i]) }
    END { show(first) }'
}

# serve ANSWERS -- SERVER... starts the server in the background and waits until the command ANSWERS succeeds. If the server ends before
# that, for instance because its port is still taken, it is started again: five times, with a second between.
serve() {
  local answers=() try pid
  while [ "$1" != -- ]; do answers+=("$1") && shift; done
  shift
  for try in 1 2 3 4 5; do
    setsid "$@" >>"$dir/log" 2>&1 </dev/null &
    pid=$!
    echo "$pid" >"$dir/pid"
    for _ in $(seq 600); do
      if timeout 5 "${answers[@]}" >/dev/null 2>&1 && running "$pid"; then return; fi
      sleep 0.05
      running "$pid" || { sleep 1 && continue 2; }
    done
    break # it runs, and does not answer
  done
  echo "the server does not start, $try times; its log ends with:" >&2
  tail -n 20 "$dir/log" >&2
  end KILL "$dir"
  exit 1
}

start() {
  local name=$1
  dir=$2
  shift 2
  mkdir -p "$dir/data"
  if [ ! -f "$dir/port" ]; then
    local port
    while port=$((20000 + RANDOM % 12000)) && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo "$port" >"$dir/port"
  fi
  local port
  port=$(cat "$dir/port")
  case $name in
  redis)
    command -v redis-server >/dev/null || missing redis-server redis-server
    serve bash -c "[ \"\$(redis-cli -p $port ping)\" = PONG ]" -- redis-server --port "$port" --bind 127.0.0.1 --appendonly yes --save '' --dir "$dir/data" "$@"
    ;;
  mariadb)
    command -v mariadbd >/dev/null || missing mariadbd mariadb-server
    if [ ! -f "$dir/made" ]; then
      mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$dir/data" --auth-root-authentication-method=normal --skip-test-db >>"$dir/log" 2>&1
      touch "$dir/made"
    fi
    serve mariadb-admin --no-defaults --socket="$dir/s" --user=root ping -- mariadbd --no-defaults --user="$(id -un)" --datadir="$dir/data" --bind-address=127.0.0.1 --port="$port" --socket="$dir/s" "$@"
    mariadb --no-defaults --socket="$dir/s" --user=root -e 'CREATE DATABASE IF NOT EXISTS neardup'
    ;;
  postgres)
    local bin
    bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
    [ -n "$bin" ] || missing postgres postgresql
    local as=()
    if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses to run as root
      as=(runuser -u postgres --)
      chown -R postgres "$dir/data"
      chmod 755 "$dir"
    fi
    if [ ! -f "$dir/made" ]; then
      (cd / && "${as[@]}" "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-locale) >>"$dir/log" 2>&1
      touch "$dir/made"
    fi
    cd /
    serve "$bin/pg_isready" -h 127.0.0.1 -p "$port" -- "${as[@]}" "$bin/postgres" -D "$dir/data" -h 127.0.0.1 -p "$port" -k "$dir/data" "$@"
    ;;
  *)
    echo "no server $name" >&2
    exit 2
    ;;
  esac
  echo "$port"
}

# end SIGNAL DIR sends a signal to the server, and waits for it and all processes that it has started.
end() {
  local signal=$1 pid all
  dir=$2
  pid=$(cat "$dir/pid")
  all=$(family "$pid")
  kill "-$signal" -- "-$pid" 2>/dev/null || true
  while running $all; do sleep 0.02; done
  rm -f "$dir"/data/postmaster.pid "$dir"/data/.s.PGSQL.* # PostgreSQL takes a zombie for a running server, and would not start again
}

case ${1:-} in
start) shift && start "$@" ;;
stop) end TERM "$2" ;;
kill) end KILL "$2" ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
