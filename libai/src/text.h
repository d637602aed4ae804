/* SPDX-License-Identifier: Apache-2.0 */
/* Between the kernel's character arrays and strings. */
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace ai::detail {

/* Up to the NUL, or all of it. */
template <std::size_t N> std::string text_of(const char (&array)[N])
{
    return std::string(array, std::find(array, array + N, '\0'));
}

/* For example "Permission denied". */
inline std::string error_text(int code)
{
    return std::generic_category().message(code);
}

inline std::string quoted(std::string_view text)
{
    return "'" + std::string(text) + "'";
}

} // namespace ai::detail
