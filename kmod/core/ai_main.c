// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ai0: the node, open files and the module.
 */
#include <linux/cdev.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/slab.h>

#include "ai_internal.h"

struct workqueue_struct *ai_wq, *ai_kick_wq;
struct inode *ai_inode;

static dev_t ai_devt;
static struct cdev ai_cdev;
static struct device *ai_node;
static struct vfsmount *ai_mnt;
static int ai_mnt_count;
static atomic64_t ai_file_ids = ATOMIC64_INIT(0);

static int ai_open(struct inode *inode, struct file *filp)
{
	struct ai_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return -ENOMEM;

	file->id = atomic64_inc_return(&ai_file_ids);
	xa_init(&file->regions);
	xa_init(&file->more_handles);
	xa_init_flags(&file->models, XA_FLAGS_ALLOC1);
	xa_init(&file->as);
	mutex_init(&file->models_lock);
	mutex_init(&file->handles_lock);
	INIT_LIST_HEAD(&file->jobs);
	spin_lock_init(&file->jobs_lock);

	filp->private_data = file;
	/* One mapping for all nodes, so that a region can be revoked everywhere. */
	filp->f_mapping = ai_inode->i_mapping;
	return nonseekable_open(inode, filp);
}

/* No call runs any more and no mapping is left: both hold the open file. */
static int ai_release(struct inode *inode, struct file *filp)
{
	struct ai_file *file = filp->private_data;

	ai_file_release_models(file);
	ai_file_release_regions(file);
	ai_file_release_as(file);
	mutex_destroy(&file->handles_lock);
	mutex_destroy(&file->models_lock);
	kfree(file);
	return 0;
}

static const struct file_operations ai_fops = {
	.owner = THIS_MODULE,
	.open = ai_open,
	.release = ai_release,
	.unlocked_ioctl = ai_call_dispatch,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = ai_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
};

static char *ai_devnode(const struct device *dev, umode_t *mode)
{
	if (mode && dev->devt)
		*mode = 0660;
	return NULL;
}

const struct class ai_class = {
	.name = "ai",
	.devnode = ai_devnode,
};

static int ai_fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, 0x61693066) ? 0 : -ENOMEM; /* "ai0f" */
}

/* Never mounted by anybody else: it holds the inode whose mapping all files share. */
static struct file_system_type ai_fs_type = {
	.name = "ai",
	.owner = THIS_MODULE,
	.init_fs_context = ai_fs_init_context,
	.kill_sb = kill_anon_super,
};

static int ai_inode_create(void)
{
	int ret = simple_pin_fs(&ai_fs_type, &ai_mnt, &ai_mnt_count);

	if (ret)
		return ret;

	ai_inode = alloc_anon_inode(ai_mnt->mnt_sb);
	if (IS_ERR(ai_inode)) {
		simple_release_fs(&ai_mnt, &ai_mnt_count);
		return PTR_ERR(ai_inode);
	}
	/*
	 * The mount was taken by this module from itself: without this it could
	 * never be unloaded.
	 */
	module_put(THIS_MODULE);
	return 0;
}

static void ai_inode_destroy(void)
{
	__module_get(THIS_MODULE);
	iput(ai_inode);
	simple_release_fs(&ai_mnt, &ai_mnt_count);
}

static int __init ai_init(void)
{
	int ret;

	ai_gpt_init();

	ai_wq = alloc_workqueue("ai", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!ai_wq)
		return -ENOMEM;
	ai_kick_wq = alloc_workqueue("ai-kick", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!ai_kick_wq) {
		ret = -ENOMEM;
		goto destroy_wq;
	}
	ret = ai_inode_create();
	if (ret)
		goto destroy_kick_wq;
	ret = class_register(&ai_class);
	if (ret)
		goto destroy_inode;
	ret = alloc_chrdev_region(&ai_devt, 0, 1, "ai");
	if (ret)
		goto unregister_class;
	cdev_init(&ai_cdev, &ai_fops);
	ai_cdev.owner = THIS_MODULE;
	ret = cdev_add(&ai_cdev, ai_devt, 1);
	if (ret)
		goto unregister_region;
	ai_debugfs_init();
	ai_node = device_create(&ai_class, NULL, ai_devt, NULL, "ai0");
	if (IS_ERR(ai_node)) {
		ret = PTR_ERR(ai_node);
		goto del_cdev;
	}
	return 0;

del_cdev:
	ai_debugfs_exit();
	cdev_del(&ai_cdev);
unregister_region:
	unregister_chrdev_region(ai_devt, 1);
unregister_class:
	class_unregister(&ai_class);
destroy_inode:
	ai_inode_destroy();
destroy_kick_wq:
	destroy_workqueue(ai_kick_wq);
destroy_wq:
	destroy_workqueue(ai_wq);
	ai_gpt_exit();
	return ret;
}

/* Open files and device drivers hold the module: nobody is left when this runs. */
static void __exit ai_exit(void)
{
	device_destroy(&ai_class, ai_devt);
	ai_debugfs_exit();
	cdev_del(&ai_cdev);
	unregister_chrdev_region(ai_devt, 1);
	/* Releases of regions, models and address spaces may still be under way. */
	destroy_workqueue(ai_kick_wq);
	destroy_workqueue(ai_wq);
	class_unregister(&ai_class);
	ai_inode_destroy();
	ai_contracts_exit();
	ai_gpt_exit();
}

module_init(ai_init);
module_exit(ai_exit);

MODULE_AUTHOR("The ai0 developers");
MODULE_DESCRIPTION("Inference as a service of the kernel");
MODULE_VERSION(__stringify(AI_ABI_MAJOR) "." __stringify(AI_ABI_MINOR));
MODULE_LICENSE("GPL");
