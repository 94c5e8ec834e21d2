# Functions shared by ./dfsim, ./test and .ci/run: install Debian packages, configure and build.
# Everything they say goes to stderr, and they never read stdin: both belong to the program.

say() { printf 'dfsim: %s\n' "$*" >&2; }

# missing_packages ROOT GROUP...: prints the packages of these groups that are not installed.
missing_packages() {
  local root=$1 group package names name installed
  shift
  local -A have=()
  while read -r installed name; do
    [[ $installed == installed ]] && have[$name]=1
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n')
  while read -r group package; do
    [[ " $* " == *" $group "* ]] || continue
    IFS='|' read -ra names <<<"$package"
    for name in "${names[@]}"; do
      [[ -n ${have[$name]:-} ]] && continue 2
    done
    echo "${names[0]}"
  done <"$root/packaging/debian-packages.txt"
}

# install_packages ROOT GROUP...: installs what is missing from Debian, or says what to do.
install_packages() {
  local root=$1 missing log=$1/build/apt.log as_root=()
  [[ -n ${DFSIM_NO_INSTALL:-} ]] && return 0
  if ! command -v dpkg-query apt-get >/dev/null; then
    say "this is not Debian: installing nothing (packaging/debian-packages.txt lists what is needed)"
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    # A password can be asked for only on a terminal.
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 2 ]]; }; then
      as_root=(sudo)
    else
      say "missing Debian packages, and neither root nor sudo to install them; as root, run:"
      say "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
      say "then run this command again (DFSIM_NO_INSTALL=1 skips this check)"
      return 1
    fi
  fi
  say "installing from Debian: ${missing[*]}"
  local get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y
    -o DPkg::Lock::Timeout=300)
  local install=("${get[@]}" install --no-install-recommends "${missing[@]}")
  mkdir -p "${log%/*}"
  : >"$log"
  # The package lists are fetched only when there are none or they have gone stale.
  "${install[@]}" </dev/null >>"$log" 2>&1 ||
    { "${get[@]}" update </dev/null >>"$log" 2>&1 &&
      "${install[@]}" </dev/null >>"$log" 2>&1; } || {
    tail -n 20 "$log" >&2
    say "installing failed (the whole log: $log); as root, run:"
    say "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
    return 1
  }
}

# build_jobs: one compiler per core, as far as there is 1 GB of free memory for each.
build_jobs() {
  local jobs key value rest
  jobs=$(nproc)
  while read -r key value rest; do
    if [[ $key == MemAvailable: ]] && ((value / 1000000 < jobs)); then
      jobs=$((value / 1000000))
    fi
  done </proc/meminfo
  echo $((jobs > 1 ? jobs : 1))
}

# time_left DONE ALL SECONDS: "about 3 min left", from the steps that are done; nothing before there
# are enough to tell.
time_left() {
  local done=$1 all=$2 seconds=$3 left
  ((done >= 4 && seconds >= 5)) || return 0
  left=$((seconds * (all - done) / done))
  if ((left >= 90)); then
    printf ', about %d min left' $(((left + 30) / 60))
  else
    printf ', about %d s left' $(((left + 9) / 10 * 10))
  fi
}

# show_progress: passes no line on, but shows the "[12/345]" that lines begin with and the time left.
# Steps are of unequal size, so that is an estimate.
show_progress() {
  local line shown=-100 begun=$SECONDS first='' done all text
  while IFS= read -r line; do
    if [[ $line =~ ^\[\ *([0-9]+)/([0-9]+)\] ]]; then
      done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    elif [[ $line =~ ^\[\ *([0-9]+)%\] ]]; then
      done=${BASH_REMATCH[1]} all=100
    else
      continue
    fi
    # A build that goes on does not begin with its first step.
    [[ -n $first ]] || { first=$((done - 1)); begun=$SECONDS; }
    text="building [$done/$all]$(time_left $((done - first)) $((all - first)) $((SECONDS - begun)))"
    if [[ -t 2 ]]; then
      printf '\r\033[Kdfsim: %s ' "$text" >&2
    elif ((SECONDS - shown >= 30)); then
      say "$text"
      shown=$SECONDS
    fi
  done
  [[ -t 2 ]] && printf '\r\033[K' >&2
}

# run_logged LOG COMMAND...: output goes to the end of LOG; on failure its last lines are shown.
run_logged() {
  local log=$1 pipe
  shift
  "$@" </dev/null 2>&1 | tee -a "$log" | show_progress
  pipe=("${PIPESTATUS[@]}")
  if ((pipe[0] != 0)); then
    tail -n 40 "$log" >&2
    say "failed: $*"
    say "the whole log: $log"
    return 1
  fi
}

# configure_and_build ROOT PRESET LOG [CONFIGURE-OPTION...] -- [BUILD-OPTION...]
configure_and_build() {
  local root=$1 preset=$2 log=$3 configure=() home
  shift 3
  while [[ $1 != -- ]]; do
    configure+=("$1")
    shift
  done
  shift
  local folder=$root/build/$preset
  if [[ -f $folder/build.ninja || -f $folder/Makefile ]]; then
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt")
  fi
  # Never configured with success, or for another folder (a copied or moved clone), which CMake
  # would refuse.
  if ! [[ ${home:-} -ef $root ]]; then
    configure+=(--fresh)
    if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja >/dev/null; then
      configure+=(-G Ninja)
    fi
  fi
  mkdir -p "${log%/*}"
  : >"$log"
  (cd -- "$root" && run_logged "$log" cmake --preset "$preset" "${configure[@]}" &&
    run_logged "$log" cmake --build --preset "$preset" -j "$(build_jobs)" "$@")
}

# build_release ROOT STAMP GROUPS [CONFIGURE-OPTION...] -- [BUILD-OPTION...]: packages and build of
# preset release, one caller at a time. STAMP gets the time at which the build began, so that a
# source changed during the build counts as newer.
build_release() {
  local root stamp=$2 groups=$3 log
  root=$(cd -- "$1" && pwd -P) || return 1
  shift 3
  log=$root/build/build.log
  mkdir -p "$root/build" || return 1
  (
    exec 9>"$root/build/.lock"
    flock -n 9 || { say "waiting for another build of this folder"; flock 9; }
    # shellcheck disable=SC2086 # groups are words
    install_packages "$root" $groups || exit 1
    [[ -f $stamp ]] || say "building once (a few minutes); log: $log"
    printf '%s\n' "$root" >"$root/build/.begun"
    configure_and_build "$root" release "$log" "$@" || exit 1
    mv -- "$root/build/.begun" "$stamp"
  )
}

# build_dfsim ROOT: the program alone; a folder configured by ./test keeps its tests.
build_dfsim() {
  local options=()
  [[ -f $1/build/release/CMakeCache.txt ]] || options=(-DDFSIM_BUILD_TESTS=OFF)
  build_release "$1" "$1/build/release/.dfsim-built" build "${options[@]}" -- --target dfsim
}

# setup_test_python ROOT: a Python with the packages that optional tests import, in build/test-venv.
setup_test_python() {
  local root=$1 venv=$1/build/test-venv log=$1/build/test-venv.log
  mkdir -p "$root/build"
  install_packages "$root" test || return 1
  say "installing Python packages of optional tests in build/test-venv; log: $log"
  { [[ -x $venv/bin/python ]] || python3 -m venv "$venv"; } >"$log" 2>&1 &&
    "$venv/bin/pip" install --quiet -r "$root/tests/requirements.txt" >>"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    say "failed; the whole log: $log"
    return 1
  }
  setup_test_xgboost "$root" "$venv/bin/pip" >>"$log" 2>&1 ||
    say "no other releases of XGBoost to test with; the whole log: $log"
}

# setup_test_xgboost ROOT PIP: releases of XGBoost next to Debian's, each in a folder of its own in
# build/test-xgboost, for the test xgboost_releases. The packages named -cpu are the small ones.
setup_test_xgboost() {
  local root=$1 pip=$2 package folder
  for package in xgboost==1.7.6 xgboost-cpu==2.1.4 xgboost-cpu==3.0.5 xgboost-cpu==3.1.2; do
    folder=$root/build/test-xgboost/${package##*==}
    [[ -d $folder ]] || "$pip" install --quiet --no-deps --target "$folder" "$package" || return 1
  done
}

# logged COMMAND...: its output goes to the file that $log names, and is shown only when it fails.
logged() {
  "$@" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    say "failed: $*; the whole log: $log"
    return 1
  }
}
