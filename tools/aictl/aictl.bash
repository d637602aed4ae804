# SPDX-License-Identifier: Apache-2.0
# bash completion for aictl

_aictl()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
	local -a words=() options=(--json --no-header --help)
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
	done
	case $command in
	'')
		words=(devices contracts dump events fuse gpt models)
		options+=(--version)
		;;
	devices)
		mapfile -t words < <(aictl devices --no-header 2>/dev/null | cut -d' ' -f1)
		;;
	contracts | events)
		mapfile -t words < <(aictl contracts --names 2>/dev/null)
		[[ $command == events ]] && options+=(--follow --since) || options+=(--names)
		;;
	dump)
		mapfile -t words < <(aictl devices --no-header 2>/dev/null | cut -d' ' -f1)
		words+=(show)
		options+=(--job --output)
		if [[ $before == show || $before == --output || $before == -o ]]; then
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			return
		fi
		;;
	fuse)
		words=(reset)
		[[ $before != reset ]] || mapfile -t words < <(aictl contracts --names 2>/dev/null)
		;;
	esac
	[[ $word != -* ]] || words=("${options[@]}")
	COMPREPLY=()
	for i in "${words[@]}"; do
		# Names may hold blanks and worse.
		[[ $i != "$word"* ]] || COMPREPLY+=("$(printf %q "$i")")
	done
}
complete -F _aictl aictl
