// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log that the firmware writes into BAR2: a ring of bytes. It is the only
 * witness when a firmware dies, so its last line goes into the kernel's log then.
 */
#include <linux/ctype.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "ai_npu.h"

#define AI_NPU_LAST_LINE 160

struct ai_npu_log_view {
	void __iomem *text;
	u32 capacity;
	u32 start; /* of what is in the ring, counted like head */
	u32 bytes;
};

/* False if what the firmware says of its log cannot be. */
static bool ai_npu_log_view(struct ai_npu *npu, struct ai_npu_log_view *view)
{
	u32 head = readl(npu->log + offsetof(struct npu_log, head));

	view->text = npu->log + offsetof(struct npu_log, text);
	view->capacity = readl(npu->log + offsetof(struct npu_log, capacity));
	if (!view->capacity || view->capacity > npu->log_bytes - sizeof(struct npu_log))
		return false;
	view->bytes = min(head, view->capacity);
	view->start = head - view->bytes;
	return true;
}

static char ai_npu_log_char(char c)
{
	return c == '\n' || (isascii(c) && isprint(c)) ? c : '?';
}

/**
 * ai_npu_log_copy() - the log as it is now, oldest first
 * @npu: the device
 * @bytes: its size
 *
 * Return: the text, to be freed with vfree(); -EINVAL if what the firmware says of it
 * cannot be, -ENOMEM.
 */
char *ai_npu_log_copy(struct ai_npu *npu, size_t *bytes)
{
	struct ai_npu_log_view view;
	char *ring, *text;
	u32 i;

	if (!ai_npu_log_view(npu, &view))
		return ERR_PTR(-EINVAL);
	/* The whole ring at once, because it is being written. */
	ring = vmalloc(view.capacity);
	text = vmalloc(view.capacity);
	if (!ring || !text) {
		vfree(text);
		text = ERR_PTR(-ENOMEM);
		goto free;
	}
	memcpy_fromio(ring, view.text, view.capacity);
	for (i = 0; i < view.bytes; i++)
		text[i] = ai_npu_log_char(ring[(view.start + i) % view.capacity]);
	*bytes = view.bytes;
free:
	vfree(ring);
	return text;
}

/**
 * ai_npu_log_show() - the log as it is now, oldest first
 * @npu: the device
 * @m: where to
 *
 * Return: 0 or -ENOMEM.
 */
int ai_npu_log_show(struct ai_npu *npu, struct seq_file *m)
{
	size_t bytes;
	char *text = ai_npu_log_copy(npu, &bytes);

	if (text == ERR_PTR(-EINVAL)) {
		seq_printf(m, "the log is said to have more than the %llu bytes that fit, or none\n",
			   npu->log_bytes - sizeof(struct npu_log));
		return 0;
	}
	if (IS_ERR(text))
		return PTR_ERR(text);
	seq_write(m, text, bytes);
	vfree(text);
	return 0;
}

/**
 * ai_npu_log_last() - put the last line of the firmware's log into the kernel's
 * @npu: the device, whose firmware has died or not come up
 */
void ai_npu_log_last(struct ai_npu *npu)
{
	struct ai_npu_log_view view;
	char line[AI_NPU_LAST_LINE];
	u32 at = sizeof(line) - 1;

	if (!ai_npu_log_view(npu, &view))
		return;
	line[at] = '\0';
	while (view.bytes && at) {
		char c = ai_npu_log_char(readb(view.text + (view.start + --view.bytes) %
					       view.capacity));

		if (c != '\n')
			line[--at] = c;
		else if (line[at])
			break;
	}
	if (line[at])
		dev_warn(&npu->pdev->dev, "last line of the firmware's log: %s\n", &line[at]);
}
