/// The scripts that make a shell ask emplace what could follow: as the shell reads them.
#pragma once

#include <string_view>

namespace emplace {

// Each calls `emplace completion --line LINE`, whose first line is ":files" where the shell shall add names of files.

/// To a shell, '=', ':' and '@' end a word; what stands before the last of them is there already, so it is cut off.
inline constexpr std::string_view kBashScript = R"(_emplace() {
  local line=${COMP_LINE:0:COMP_POINT} word=${COMP_WORDS[COMP_CWORD]} whole typed found
  typed=${line##*[[:space:]]}
  [[ $word == [=:@] ]] && word=
  whole=${typed%"$word"}
  mapfile -t found < <(emplace completion --line "$line" 2>/dev/null)
  COMPREPLY=()
  if [[ ${found[0]-} == :files ]]; then
    found=("${found[@]:1}")
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    compopt -o filenames
  fi
  local one
  for one in ${found[@]+"${found[@]}"}; do COMPREPLY+=("${one#"$whole"}"); done
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=:@] ]] && compopt -o nospace
}
complete -F _emplace emplace
)";

inline constexpr std::string_view kZshScript = R"(#compdef emplace
_emplace() {
  local -a found
  found=("${(@f)$(emplace completion --line "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
  if [[ $found[1] == :files ]]; then
    found=($found[2,-1])
    [[ $PREFIX == *=* ]] && compset -P '*='
    [[ $PREFIX == @* ]] && compset -P '@'
    _files
  fi
  (( $#found )) && compadd -S '' -- $found
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _emplace "$@"; else compdef _emplace emplace; fi
)";

inline constexpr std::string_view kFishScript = R"(function __emplace_complete
  set -l found (emplace completion --line (commandline -cp | string collect) 2>/dev/null)
  if test "$found[1]" = :files
    set -l typed (commandline -ct)
    set -l before (string match -r '^.*[=@]' -- $typed)
    for file in (__fish_complete_path (string replace -r '^.*[=@]' '' -- $typed))
      printf '%s%s\n' "$before" $file
    end
    set -e found[1]
  end
  printf '%s\n' $found
end
complete -c emplace -f -a '(__emplace_complete)'
)";

}  // namespace emplace
