<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UpdatePlan implements \JsonSerializable
{
    /**
     * @param int|null $maxTimeout Seconds.
     * @param int|null $stoppedSandboxes Stopped sandboxes that are kept. A pause is never refused: those stopped
     *   first are removed after a warning (`cleanup_at`), and no sandbox is created while there are more.
     * @param int|null $pausedMemoryGb GiB of memory of paused sandboxes and of checkpoints. Each counts with the
     *   whole memory of its sandbox. At the bound a pause keeps the disk only, or fails (`on_pause_failure`).
     * @param int|null $stoppedDays Days that a stopped sandbox is kept; 0: for ever.
     * @param int|null $checkpointDays Days that a checkpoint is kept; 0: for ever.
     * @param int|null $cleanupWarningHours How long `cleanup_at` stands in a record before anything is removed.
     * @param int|null $auditDays Days that entries of the audit log are kept.
     * @param int|null $processLogKib KiB of output of its processes that a sandbox keeps in its memory.
     * @param UpdatePlanPrices|null $prices Decimal numbers as text.
     * @param bool|null $public Whether teams with other plans see this plan in their limits.
     * @param bool|null $virtualMachinesOnly Whether a create of a container is refused.
     */
    public function __construct(
        public readonly ?bool $resourceOverride = null,
        public readonly ?int $diskGb = null,
        public readonly ?int $maxTimeout = null,
        public readonly ?int $sandboxes = null,
        public readonly ?int $vcpus = null,
        public readonly ?int $memoryMb = null,
        public readonly ?int $stoppedSandboxes = null,
        public readonly ?int $pausedMemoryGb = null,
        public readonly ?int $volumes = null,
        public readonly ?int $checkpoints = null,
        public readonly ?int $stoppedDays = null,
        public readonly ?int $checkpointDays = null,
        public readonly ?int $cleanupWarningHours = null,
        public readonly ?int $auditDays = null,
        public readonly ?int $processLogKib = null,
        public readonly ?UpdatePlanPrices $prices = null,
        public readonly ?bool $public = null,
        public readonly ?bool $virtualMachinesOnly = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'resource_override' => $this->resourceOverride,
            'disk_gb' => $this->diskGb,
            'max_timeout' => $this->maxTimeout,
            'sandboxes' => $this->sandboxes,
            'vcpus' => $this->vcpus,
            'memory_mb' => $this->memoryMb,
            'stopped_sandboxes' => $this->stoppedSandboxes,
            'paused_memory_gb' => $this->pausedMemoryGb,
            'volumes' => $this->volumes,
            'checkpoints' => $this->checkpoints,
            'stopped_days' => $this->stoppedDays,
            'checkpoint_days' => $this->checkpointDays,
            'cleanup_warning_hours' => $this->cleanupWarningHours,
            'audit_days' => $this->auditDays,
            'process_log_kib' => $this->processLogKib,
            'prices' => $this->prices,
            'public' => $this->public,
            'virtual_machines_only' => $this->virtualMachinesOnly,
        ]);
    }
}
