<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Plan
{
    /**
     * @param bool $public Whether teams with other plans see this plan in their limits.
     * @param list<int> $cpuValues The numbers of vCPUs that the plan allows and a host of the deployment can give.
     * @param int $memoryMbMax The largest memory of one sandbox that the plan allows and a host of the deployment
     *   can give.
     * @param int $maxTimeout Seconds.
     * @param int $stoppedSandboxes Stopped sandboxes that are kept. A pause is never refused: those stopped first
     *   are removed after a warning (`cleanup_at`), and no sandbox is created while there are more.
     * @param int $pausedMemoryGb GiB of memory of paused sandboxes and of checkpoints. Each counts with the whole
     *   memory of its sandbox. At the bound a pause keeps the disk only, or fails (`on_pause_failure`).
     * @param int $stoppedDays Days that a stopped sandbox is kept; 0: for ever.
     * @param int $checkpointDays Days that a checkpoint is kept; 0: for ever.
     * @param int $cleanupWarningHours How long `cleanup_at` stands in a record before anything is removed.
     * @param int $auditDays Days that entries of the audit log are kept.
     * @param int $processLogKib KiB of output of its processes that a sandbox keeps in its memory.
     * @param bool $virtualMachinesOnly Whether all sandboxes of the team must be virtual machines.
     */
    public function __construct(
        public readonly string $name,
        public readonly bool $public,
        public readonly bool $resourceOverride,
        public readonly array $cpuValues,
        public readonly int $memoryMbMax,
        public readonly int $diskGb,
        public readonly int $maxTimeout,
        public readonly int $sandboxes,
        public readonly int $vcpus,
        public readonly int $memoryMb,
        public readonly int $stoppedSandboxes,
        public readonly int $pausedMemoryGb,
        public readonly int $volumes,
        public readonly int $checkpoints,
        public readonly int $stoppedDays,
        public readonly int $checkpointDays,
        public readonly int $cleanupWarningHours,
        public readonly int $auditDays,
        public readonly int $processLogKib,
        public readonly bool $virtualMachinesOnly,
        public readonly Prices $prices,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            public: $fields->bool('public'),
            resourceOverride: $fields->bool('resource_override'),
            cpuValues: $fields->ints('cpu_values'),
            memoryMbMax: $fields->int('memory_mb_max'),
            diskGb: $fields->int('disk_gb'),
            maxTimeout: $fields->int('max_timeout'),
            sandboxes: $fields->int('sandboxes'),
            vcpus: $fields->int('vcpus'),
            memoryMb: $fields->int('memory_mb'),
            stoppedSandboxes: $fields->int('stopped_sandboxes'),
            pausedMemoryGb: $fields->int('paused_memory_gb'),
            volumes: $fields->int('volumes'),
            checkpoints: $fields->int('checkpoints'),
            stoppedDays: $fields->int('stopped_days'),
            checkpointDays: $fields->int('checkpoint_days'),
            cleanupWarningHours: $fields->int('cleanup_warning_hours'),
            auditDays: $fields->int('audit_days'),
            processLogKib: $fields->int('process_log_kib'),
            virtualMachinesOnly: $fields->bool('virtual_machines_only'),
            prices: $fields->object('prices', Prices::read(...)),
        );
    }
}
