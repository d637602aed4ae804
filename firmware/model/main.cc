// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"
#include "slot.h"

int main(int argc, char** argv)
{
    return ai0::npu::Slot(ai0::npu::parse_command_line(argc, argv)).run();
}
