/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <algorithm>
#include <cassert>

namespace aictl {

std::string printable(std::string text)
{
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e)
            c = '?';
    return text;
}

Table::Table(std::vector<std::string> names) : rows_{std::move(names)} {}

void Table::add(std::vector<std::string> cells)
{
    assert(cells.size() == rows_.front().size());
    for (std::size_t i = 0; i < cells.size(); i++) {
        cells[i] = cells[i].empty() ? "-" : printable(std::move(cells[i]));
        if (i + 1 < cells.size())
            std::ranges::replace(cells[i], ' ', '_');
    }
    rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out, bool header) const
{
    std::vector<std::size_t> widths(rows_.front().size());

    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); i++)
            widths[i] = std::max(widths[i], row[i].size());
    for (std::size_t r = header ? 0 : 1; r < rows_.size(); r++) {
        for (std::size_t i = 0; i < widths.size(); i++) {
            out << rows_[r][i];
            if (i + 1 < widths.size())
                out << std::string(widths[i] - rows_[r][i].size() + 2, ' ');
        }
        out << '\n';
    }
}

} // namespace aictl
