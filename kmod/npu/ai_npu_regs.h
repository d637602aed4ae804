/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to the registers of the reference NPU: struct npu_regs at the start of
 * BAR2, and the doorbells of ivshmem in BAR0.
 */
#ifndef AI_NPU_REGS_H
#define AI_NPU_REGS_H

#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/pci_ids.h>
#include <linux/stddef.h>

#include "../../firmware/include/ai_npu_abi.h"

#ifdef __BIG_ENDIAN
#error "The rings and tables of the NPU are little-endian and used in place"
#endif

/* QEMU's ivshmem-doorbell; any other use of it is told apart by NPU_MAGIC. */
#define AI_NPU_PCI_VENDOR PCI_VENDOR_ID_REDHAT_QUMRANET
#define AI_NPU_PCI_DEVICE 0x1110

#define AI_NPU_BAR_IVSHMEM 0
#define AI_NPU_BAR_SHARED 2

/* BAR0 */
#define AI_NPU_IVSHMEM_BYTES 16
#define AI_NPU_IVSHMEM_POSITION 8
#define AI_NPU_IVSHMEM_DOORBELL 12

#define ai_npu_read32(npu, field) \
	readl((npu)->regs + offsetof(struct npu_regs, field))
#define ai_npu_read64(npu, field) \
	readq((npu)->regs + offsetof(struct npu_regs, field))
#define ai_npu_write32(npu, field, value) \
	writel((value), (npu)->regs + offsetof(struct npu_regs, field))
#define ai_npu_write64(npu, field, value) \
	writeq((value), (npu)->regs + offsetof(struct npu_regs, field))

/* Orders earlier writes to system memory and to the BARs before the doorbell. */
#define ai_npu_doorbell(npu, vector) do { \
	wmb(); /* the load window may be write-combined */ \
	writel(NPU_PEER_DEVICE << 16 | (vector), (npu)->ivshmem + AI_NPU_IVSHMEM_DOORBELL); \
} while (0)

#endif /* AI_NPU_REGS_H */
