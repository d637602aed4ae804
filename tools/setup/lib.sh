# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared by the set-up scripts.

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/ai0
mkdir -p "$CACHE"

say() { printf 'setup: %s\n' "$*" >&2; }

die() {
	printf 'setup: %s\n' "$*" >&2
	exit 1
}

# fresh STAMP KEY: whether the step that leaves STAMP was done with this KEY.
fresh() { [[ -f $1 && $(<"$1") = "$2" ]]; }

# npm_package NAME@VERSION SHA512 FILE: the package's archive, checked.
npm_package() {
	local spec=$1 sum=$2 file=$3 folder
	if [[ ! -f $file ]]; then
		folder=$(mktemp -d "$CACHE/npm.XXXXXX")
		say "fetching $spec from npm"
		(cd "$folder" && npm pack --silent "$spec" >/dev/null) ||
			die "npm could not fetch $spec; is a registry reachable (npm ping)?"
		mv "$folder"/*.tgz "$file"
		rmdir "$folder"
	fi
	if ! echo "$sum  $file" | sha512sum --check --status; then
		rm -f "$file"
		die "the archive of $spec is not the one this version was made with (SHA-512 differs); run again to fetch it anew"
	fi
}
