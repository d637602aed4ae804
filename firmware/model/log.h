/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log file of the device model. Slot and silicon write to it, a line at a time.
 */
#pragma once

#include <string>
#include <string_view>

namespace ai0::npu {

/* False if the file cannot be opened for appending. */
bool log_open(const std::string& path);

/* What every line of this process begins with. */
void log_name(std::string_view who);

void log_line(std::string_view text);

} // namespace ai0::npu
