// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs: commands, completions, tags, interrupts, and control commands
 * that are waited for.
 *
 * A command takes one of NPU_QUEUE_ENTRIES slots until it is completed or the
 * device is stopped. So there are never more commands without completion than
 * the completion ring has entries, and a slot whose waiter gave up is not given
 * to another command while the device might still answer. A tag is the number
 * of the slot below a sequence number: it is never used twice.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>

#include "ai_npu.h"

#define AI_NPU_TAG_SLOT 0xff
#define AI_NPU_TAG_SHIFT 8

/* Vectors the driver serves; the silicon may have more. */
#define AI_NPU_IRQS 3

static_assert((NPU_QUEUE_ENTRIES - 1) <= AI_NPU_TAG_SLOT);
static_assert(!(NPU_QUEUE_ENTRIES & (NPU_QUEUE_ENTRIES - 1)));
static_assert(sizeof(struct npu_cmd) == 64);
static_assert(sizeof(struct npu_cpl) == 64);

const char *ai_npu_status_name(u32 status)
{
	static const char * const names[] = {
		[NPU_ST_OK] = "success",
		[NPU_ST_BAD_COMMAND] = "command refused",
		[NPU_ST_NOT_FOUND] = "model, address space or job not known",
		[NPU_ST_FAULT] = "address fault",
		[NPU_ST_BAD_MODEL] = "bad model",
		[NPU_ST_UNSUPPORTED] = "not supported",
		[NPU_ST_TOO_SMALL] = "output too small",
		[NPU_ST_BAD_TENSOR] = "bad tensor",
		[NPU_ST_ENGINE] = "engine failure",
		[NPU_ST_ABORTED] = "aborted",
		[NPU_ST_RESET] = "ended by a reset",
		[NPU_ST_NO_MEMORY] = "out of device memory",
		[NPU_ST_ECC] = "uncorrected memory error",
	};

	return status < ARRAY_SIZE(names) ? names[status] : "malformed completion";
}

static int ai_npu_status_error(u32 status)
{
	switch (status) {
	case NPU_ST_OK:
		return 0;
	case NPU_ST_NOT_FOUND:
		return -ENOENT;
	case NPU_ST_NO_MEMORY:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

/* ---- sending ---- */

/**
 * ai_npu_queue_send_locked() - give a command to the device
 * @queue: the queue, with its lock held
 * @req: says who gets the answer; NULL: nobody
 * @cmd: the command; its tag is set
 *
 * Return: 0; -ESHUTDOWN while the device is stopped, -EBUSY while it is about to
 * be, -EAGAIN if the queue is full. Unless 0, @req is not touched.
 */
int ai_npu_queue_send_locked(struct ai_npu_queue *queue, struct ai_npu_request *req,
			     struct npu_cmd *cmd)
{
	struct ai_npu_ring *ring = queue->ring;
	u32 slot;

	lockdep_assert_held(&queue->lock);

	if (queue->state != AI_NPU_OPEN)
		return queue->state == AI_NPU_CLOSING ? -EBUSY : -ESHUTDOWN;
	slot = find_first_zero_bit(queue->slots, NPU_QUEUE_ENTRIES);
	if (slot == NPU_QUEUE_ENTRIES)
		return -EAGAIN;

	__set_bit(slot, queue->slots);
	queue->sequence++;
	cmd->tag = queue->sequence << AI_NPU_TAG_SHIFT | slot;
	queue->tags[slot] = cmd->tag;
	queue->ops[slot] = cmd->op;
	queue->requests[slot] = req;
	if (req)
		req->tag = cmd->tag;

	ring->cmd[queue->cmd_tail % NPU_QUEUE_ENTRIES] = *cmd;
	queue->cmd_tail++;
	dma_wmb(); /* the entry before the index */
	WRITE_ONCE(ring->index.cmd_tail, queue->cmd_tail);
	ai_npu_doorbell(queue->npu, queue->doorbell);
	return 0;
}

int ai_npu_queue_send(struct ai_npu_queue *queue, struct ai_npu_request *req,
		      struct npu_cmd *cmd)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&queue->lock, flags);
	ret = ai_npu_queue_send_locked(queue, req, cmd);
	spin_unlock_irqrestore(&queue->lock, flags);
	return ret;
}

/* ---- completions ---- */

static void ai_npu_queue_free_slot(struct ai_npu_queue *queue, u32 slot)
{
	__clear_bit(slot, queue->slots);
	queue->tags[slot] = 0;
	queue->requests[slot] = NULL;
}

/*
 * Take one completion out of the ring. Returns false when there is none; @req
 * is NULL when the completion is for nobody.
 */
static bool ai_npu_queue_take(struct ai_npu_queue *queue, struct ai_npu_request **req,
			      struct npu_cpl *cpl)
{
	struct ai_npu *npu = queue->npu;
	struct ai_npu_ring *ring = queue->ring;
	unsigned long flags;
	u32 ready, slot, op;

	*req = NULL;
	spin_lock_irqsave(&queue->lock, flags);
	if (queue->state == AI_NPU_STOPPED)
		goto none;
	ready = READ_ONCE(ring->index.cpl_tail) - queue->cpl_head;
	if (!ready)
		goto none;
	if (ready > NPU_QUEUE_ENTRIES) {
		spin_unlock_irqrestore(&queue->lock, flags);
		if (ai_npu_fault(npu, AI_NPU_FAULT_INDEX))
			dev_warn(&npu->pdev->dev, "the device claims %u completions, at most %u can be there; it is restarted\n",
				 ready, NPU_QUEUE_ENTRIES);
		ai_npu_recovery_request(npu, AI_NPU_RUNG_FIRMWARE, false,
					"the device wrote an impossible completion index");
		return false;
	}
	dma_rmb(); /* the index before the entry */
	memcpy(cpl, &ring->cpl[queue->cpl_head % NPU_QUEUE_ENTRIES], sizeof(*cpl));
	barrier(); /* from here on only the copy is looked at */
	queue->cpl_head++;
	WRITE_ONCE(ring->index.cpl_head, queue->cpl_head);

	slot = cpl->tag & AI_NPU_TAG_SLOT;
	if (!cpl->tag || slot >= NPU_QUEUE_ENTRIES || queue->tags[slot] != cpl->tag) {
		bool waiting = !bitmap_empty(queue->slots, NPU_QUEUE_ENTRIES);

		spin_unlock_irqrestore(&queue->lock, flags);
		if (ai_npu_fault(npu, AI_NPU_FAULT_TAG))
			dev_warn(&npu->pdev->dev, "the device completed tag 0x%llx (operation %u), which is not under way; %s\n",
				 cpl->tag, cpl->op, waiting ? "it is restarted" : "ignored");
		/* It may have been meant for a command that would now wait for ever. */
		if (waiting)
			ai_npu_recovery_request(npu, AI_NPU_RUNG_FIRMWARE, false,
						"the device completed a command that was not under way");
		return true;
	}
	op = queue->ops[slot];
	*req = queue->requests[slot];
	if (*req)
		(*req)->tag = 0;
	ai_npu_queue_free_slot(queue, slot);
	spin_unlock_irqrestore(&queue->lock, flags);

	if (!*req) {
		/* Nobody waits for the answer to what is only to end something else. */
		if (op != NPU_OP_ABORT && op != NPU_OP_MODEL_UNLOAD &&
		    ai_npu_fault(npu, AI_NPU_FAULT_LATE))
			dev_warn(&npu->pdev->dev, "the device answered operation %u after the driver had given up\n",
				 cpl->op);
	} else if (cpl->op != op) {
		if (ai_npu_fault(npu, AI_NPU_FAULT_OP))
			dev_warn(&npu->pdev->dev, "the device completed operation %u with the tag of operation %u; taken as a failure\n",
				 cpl->op, op);
		cpl->status = AI_NPU_ST_MALFORMED;
	} else if (cpl->status > NPU_ST_ECC) {
		if (ai_npu_fault(npu, AI_NPU_FAULT_STATUS))
			dev_warn(&npu->pdev->dev, "the device completed operation %u with status %u, the highest known is %u; taken as a failure\n",
				 cpl->op, cpl->status, NPU_ST_ECC);
		cpl->status = AI_NPU_ST_MALFORMED;
	}
	return true;

none:
	spin_unlock_irqrestore(&queue->lock, flags);
	return false;
}

/**
 * ai_npu_queue_poll() - handle the completions that are there
 * @queue: the queue
 *
 * Process context. May run in several threads at once. Ends after a ringful, so
 * that a device that completes without end cannot hold the thread.
 */
void ai_npu_queue_poll(struct ai_npu_queue *queue)
{
	struct ai_npu_request *req;
	struct npu_cpl cpl;
	bool room = false;
	u32 i;

	for (i = 0; i < NPU_QUEUE_ENTRIES && ai_npu_queue_take(queue, &req, &cpl); i++) {
		room = true;
		if (req)
			req->done(queue->npu, req, &cpl);
	}
	if (room)
		wake_up_all(&queue->wait);
}

/* ---- control commands that are waited for ---- */

struct ai_npu_wait {
	struct ai_npu_request request;
	struct completion done;
	struct npu_cpl cpl;
	bool answered;
};

static void ai_npu_wait_done(struct ai_npu *npu, struct ai_npu_request *req,
			     const struct npu_cpl *cpl)
{
	struct ai_npu_wait *wait = container_of(req, struct ai_npu_wait, request);

	wait->answered = cpl;
	if (cpl)
		wait->cpl = *cpl;
	complete(&wait->done);
}

/**
 * ai_npu_queue_abandon() - wait no longer for the answer to a command
 * @queue: the queue
 * @req: was sent
 *
 * Return: false if the request has been taken for its call-back already.
 */
bool ai_npu_queue_abandon(struct ai_npu_queue *queue, struct ai_npu_request *req)
{
	unsigned long flags;
	bool abandoned = false;

	spin_lock_irqsave(&queue->lock, flags);
	if (req->tag) {
		queue->requests[req->tag & AI_NPU_TAG_SLOT] = NULL;
		req->tag = 0;
		abandoned = true;
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return abandoned;
}

/*
 * Wait for the answer. Who waits long, for the device to end its work on a model,
 * hurries when the device is being removed: then it may as well be reset.
 */
static bool ai_npu_wait_answer(struct ai_npu *npu, struct ai_npu_wait *wait,
			       unsigned int timeout_ms)
{
	unsigned int hurry = min(timeout_ms, ai_npu_timeout(&ai_npu_command_timeout_ms));
	unsigned long begin = jiffies;
	unsigned int limit;

	do {
		if (wait_for_completion_timeout(&wait->done, msecs_to_jiffies(min(hurry, 500U))))
			return true;
		limit = READ_ONCE(npu->removing) ? hurry : timeout_ms;
	} while (time_before(jiffies, begin + msecs_to_jiffies(limit)));
	return false;
}

static bool ai_npu_queue_may_send(struct ai_npu_queue *queue)
{
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&queue->lock, flags);
	may = queue->state == AI_NPU_STOPPED ||
	      (queue->state == AI_NPU_OPEN && !bitmap_full(queue->slots, NPU_QUEUE_ENTRIES));
	spin_unlock_irqrestore(&queue->lock, flags);
	return may;
}

/*
 * Send as soon as the queue takes it. A command does not outlive a stop: what
 * began before one is answered as if it had been under way.
 */
static int ai_npu_command_send(struct ai_npu_queue *queue, struct ai_npu_request *req,
			       struct npu_cmd *cmd, int stops, unsigned int timeout_ms)
{
	unsigned long begin = jiffies;
	unsigned long flags;
	int ret;

	for (;;) {
		unsigned int limit = timeout_ms;

		spin_lock_irqsave(&queue->lock, flags);
		if (atomic_read(&queue->npu->stops) != stops)
			ret = -ESHUTDOWN;
		else
			ret = ai_npu_queue_send_locked(queue, req, cmd);
		spin_unlock_irqrestore(&queue->lock, flags);
		if (ret == -EBUSY)
			limit = ai_npu_ladder_ms();
		else if (ret != -EAGAIN)
			return ret;
		if (time_after(jiffies, begin + msecs_to_jiffies(limit)))
			return -ETIME;
		wait_event_timeout(queue->wait, ai_npu_queue_may_send(queue),
				   msecs_to_jiffies(100));
	}
}

/**
 * ai_npu_command() - have a control command carried out
 * @npu: the device
 * @cmd: the command
 * @stops: &ai_npu.stops as the caller knows it: the command is for the device as
 *	it has been since that stop
 * @value: set to &npu_cpl.value; may be NULL
 * @timeout_ms: how long to wait for the answer
 *
 * May sleep; not killable, because its callers must not leave the device half
 * told, but bounded by the time-out and the length of a recovery.
 *
 * Return: 0; -ESHUTDOWN if the device is stopped or was stopped meanwhile;
 * -ETIME if it does not answer; -ENOENT, -ENOSPC or -EIO by its answer.
 */
int ai_npu_command(struct ai_npu *npu, struct npu_cmd *cmd, int stops, u64 *value,
		   unsigned int timeout_ms)
{
	struct ai_npu_queue *queue = &npu->queue[NPU_QUEUE_CTRL];
	struct ai_npu_wait wait = { .request.done = ai_npu_wait_done };
	int ret;

	init_completion(&wait.done);
	ret = ai_npu_command_send(queue, &wait.request, cmd, stops, timeout_ms);
	if (ret)
		return ret;

	if (!ai_npu_wait_answer(npu, &wait, timeout_ms)) {
		/* An interrupt may have been lost. */
		ai_npu_queue_poll(queue);
		if (ai_npu_queue_abandon(queue, &wait.request))
			return -ETIME;
		/* Somebody is in the call-back this moment. */
		wait_for_completion(&wait.done);
	}
	if (!wait.answered)
		return -ESHUTDOWN;
	if (value)
		*value = wait.cpl.value;
	return ai_npu_status_error(wait.cpl.status);
}

/* ---- states ---- */

/* Set up rings and configuration for the next boot; the device is stopped. */
void ai_npu_queues_reset(struct ai_npu *npu)
{
	struct npu_config *config = &npu->shared->config;
	u32 i;

	for (i = 0; i < NPU_QUEUES; i++) {
		struct ai_npu_queue *queue = &npu->queue[i];
		size_t ring = offsetof(struct ai_npu_shared, ring[i]);
		unsigned long flags;

		spin_lock_irqsave(&queue->lock, flags);
		WARN_ON(queue->state != AI_NPU_STOPPED);
		memset(queue->ring, 0, sizeof(*queue->ring));
		queue->cmd_tail = 0;
		queue->cpl_head = 0;
		spin_unlock_irqrestore(&queue->lock, flags);

		config->queue[i] = (struct npu_queue_config){
			.index_addr = npu->shared_dma + ring + offsetof(struct ai_npu_ring, index),
			.cmd_addr = npu->shared_dma + ring + offsetof(struct ai_npu_ring, cmd),
			.cpl_addr = npu->shared_dma + ring + offsetof(struct ai_npu_ring, cpl),
		};
	}
	config->magic = NPU_CONFIG_MAGIC;
	config->bytes = sizeof(*config);
	config->driver_abi = NPU_ABI_VERSION;
	config->entries = NPU_QUEUE_ENTRIES;
}

void ai_npu_queue_set(struct ai_npu_queue *queue, enum ai_npu_queue_state state)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	queue->state = state;
	spin_unlock_irqrestore(&queue->lock, flags);
	wake_up_all(&queue->wait);
}

/* Recovery is about to stop the device: nothing new goes to it. */
void ai_npu_queues_close(struct ai_npu *npu)
{
	u32 i;

	for (i = 0; i < NPU_QUEUES; i++)
		if (READ_ONCE(npu->queue[i].state) == AI_NPU_OPEN)
			ai_npu_queue_set(&npu->queue[i], AI_NPU_CLOSING);
}

static void ai_npu_queue_flush(struct ai_npu_queue *queue)
{
	struct ai_npu_request *req;
	unsigned long flags;
	u32 slot;

	for (;;) {
		spin_lock_irqsave(&queue->lock, flags);
		slot = find_first_bit(queue->slots, NPU_QUEUE_ENTRIES);
		req = NULL;
		if (slot < NPU_QUEUE_ENTRIES) {
			req = queue->requests[slot];
			if (req)
				req->tag = 0;
			ai_npu_queue_free_slot(queue, slot);
		}
		spin_unlock_irqrestore(&queue->lock, flags);
		if (slot == NPU_QUEUE_ENTRIES)
			break;
		if (req)
			req->done(queue->npu, req, NULL);
	}
}

/**
 * ai_npu_queues_stopped() - the device does no DMA any more
 * @npu: the device
 *
 * Ends every command under way. What the device had completed before it stopped
 * counts. Nothing new is accepted until the queues are opened again.
 */
void ai_npu_queues_stopped(struct ai_npu *npu)
{
	u32 i;

	for (i = 0; i < NPU_QUEUES; i++)
		ai_npu_queue_poll(&npu->queue[i]);
	for (i = 0; i < NPU_QUEUES; i++)
		ai_npu_queue_set(&npu->queue[i], AI_NPU_STOPPED);
	atomic_inc(&npu->stops);
	ai_npu_models_stopped(npu);
	for (i = 0; i < NPU_QUEUES; i++) {
		ai_npu_queue_flush(&npu->queue[i]);
		wake_up_all(&npu->queue[i].wait);
	}
	wake_up_all(&npu->stop_wait);
}

/* ---- interrupts ---- */

static irqreturn_t ai_npu_irq_queue(int irq, void *data)
{
	ai_npu_queue_poll(data);
	return IRQ_HANDLED;
}

static irqreturn_t ai_npu_irq_event(int irq, void *data)
{
	ai_npu_recovery_event(data);
	return IRQ_HANDLED;
}

static int ai_npu_irq_request(struct ai_npu *npu, unsigned int vector, irq_handler_t thread,
			      void *data, const char *what)
{
	/* Edge-triggered, and what it is about is in memory: nothing to do in hard context. */
	int ret = request_threaded_irq(pci_irq_vector(npu->pdev, vector), NULL, thread,
				       IRQF_ONESHOT, what, data);

	if (ret)
		dev_err(&npu->pdev->dev, "interrupt vector %u could not be had (error %d)\n",
			vector, ret);
	return ret;
}

/**
 * ai_npu_irqs_init() - begin to take interrupts
 * @npu: with its queues set up
 *
 * Return: 0 or a negative error number; the log says why.
 */
int ai_npu_irqs_init(struct ai_npu *npu)
{
	struct pci_dev *pdev = npu->pdev;
	int ret;

	ret = pci_alloc_irq_vectors(pdev, AI_NPU_IRQS, NPU_VECTORS, PCI_IRQ_MSIX);
	if (ret < 0) {
		dev_err(&pdev->dev, "the device offers fewer than %u MSI-X vectors (error %d); give it %u\n",
			AI_NPU_IRQS, ret, NPU_VECTORS);
		return ret;
	}
	ret = ai_npu_irq_request(npu, NPU_IRQ_CTRL, ai_npu_irq_queue,
				 &npu->queue[NPU_QUEUE_CTRL], AI_NPU_NAME "-ctrl");
	if (ret)
		goto free_vectors;
	ret = ai_npu_irq_request(npu, NPU_IRQ_JOB, ai_npu_irq_queue,
				 &npu->queue[NPU_QUEUE_JOB], AI_NPU_NAME "-job");
	if (ret)
		goto free_ctrl;
	ret = ai_npu_irq_request(npu, NPU_IRQ_EVENT, ai_npu_irq_event, npu, AI_NPU_NAME "-event");
	if (ret)
		goto free_job;
	return 0;

free_job:
	free_irq(pci_irq_vector(pdev, NPU_IRQ_JOB), &npu->queue[NPU_QUEUE_JOB]);
free_ctrl:
	free_irq(pci_irq_vector(pdev, NPU_IRQ_CTRL), &npu->queue[NPU_QUEUE_CTRL]);
free_vectors:
	pci_free_irq_vectors(pdev);
	return ret;
}

void ai_npu_irqs_fini(struct ai_npu *npu)
{
	free_irq(pci_irq_vector(npu->pdev, NPU_IRQ_EVENT), npu);
	free_irq(pci_irq_vector(npu->pdev, NPU_IRQ_JOB), &npu->queue[NPU_QUEUE_JOB]);
	free_irq(pci_irq_vector(npu->pdev, NPU_IRQ_CTRL), &npu->queue[NPU_QUEUE_CTRL]);
	pci_free_irq_vectors(npu->pdev);
}

/* ---- life ---- */

int ai_npu_queues_init(struct ai_npu *npu)
{
	static const u32 doorbell[NPU_QUEUES] = {
		[NPU_QUEUE_CTRL] = NPU_DB_CTRL,
		[NPU_QUEUE_JOB] = NPU_DB_JOB,
	};
	u32 i;

	npu->shared = dma_alloc_coherent(&npu->pdev->dev, sizeof(*npu->shared), &npu->shared_dma,
					 GFP_KERNEL);
	if (!npu->shared)
		return -ENOMEM;
	for (i = 0; i < NPU_QUEUES; i++) {
		struct ai_npu_queue *queue = &npu->queue[i];

		queue->npu = npu;
		queue->ring = &npu->shared->ring[i];
		queue->doorbell = doorbell[i];
		queue->state = AI_NPU_STOPPED;
		spin_lock_init(&queue->lock);
		init_waitqueue_head(&queue->wait);
	}
	return 0;
}

void ai_npu_queues_fini(struct ai_npu *npu)
{
	dma_free_coherent(&npu->pdev->dev, sizeof(*npu->shared), npu->shared, npu->shared_dma);
}
