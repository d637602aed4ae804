/* SPDX-License-Identifier: Apache-2.0 */
#include "unknown_option.h"

#include <algorithm>
#include <cerrno>

namespace ai_tools {

ai::Error unknown_option(const std::string& tool, std::span<const option> options,
                         const std::string& word)
{
    std::string name = word.substr(0, word.find('='));
    auto known = std::ranges::find_if(options, [](const option& entry) {
        return entry.name && entry.val == optopt && entry.has_arg == no_argument;
    });
    std::string what;

    if (optopt != 0 && known != options.end() && name.size() < word.size())
        what = std::string("--") + known->name + " takes no value, it is given '" +
               word.substr(name.size() + 1) + "'";
    else if (optopt != 0)
        what = std::string("-") + static_cast<char>(optopt) + " is no option of " + tool;
    else if (std::ranges::count_if(options, [&](const option& entry) {
                 return entry.name && ("--" + std::string(entry.name)).starts_with(name);
             }) > 1)
        what = name + " is short for more than one option of " + tool;
    else
        what = name + " is no option of " + tool;
    return {EINVAL, what + ": see --help"};
}

} // namespace ai_tools
