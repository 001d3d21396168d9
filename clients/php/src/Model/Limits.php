<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Limits
{
    /**
     * @param int $cpu Fallback of new template baselines.
     * @param list<Plan> $plans The plans that the operator made public; operators get all plans.
     * @param list<int> $cpuValues The numbers of vCPUs that the team's plan allows and a host of the deployment can
     *   give.
     * @param int $memoryMbMax The largest memory of one sandbox that the plan allows and a host of the deployment
     *   can give.
     * @param int $maxTimeout Seconds.
     * @param LimitsPausedMemory $pausedMemory Memory of the team's paused sandboxes and checkpoints.
     */
    public function __construct(
        public readonly string $team,
        public readonly int $cpu,
        public readonly int $memoryMb,
        public readonly Plan $plan,
        public readonly array $plans,
        public readonly array $cpuValues,
        public readonly int $memoryMbMin,
        public readonly int $memoryMbMax,
        public readonly int $memoryMbIncrement,
        public readonly int $diskGb,
        public readonly int $maxTimeout,
        public readonly SandboxBounds $perSandbox,
        public readonly NetworkClass $networkClass,
        public readonly Prices $prices,
        public readonly Quota $quota,
        public readonly LimitsPausedMemory $pausedMemory,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            team: $fields->string('team'),
            cpu: $fields->int('cpu'),
            memoryMb: $fields->int('memory_mb'),
            plan: $fields->object('plan', Plan::read(...)),
            plans: $fields->objects('plans', Plan::read(...)),
            cpuValues: $fields->ints('cpu_values'),
            memoryMbMin: $fields->int('memory_mb_min'),
            memoryMbMax: $fields->int('memory_mb_max'),
            memoryMbIncrement: $fields->int('memory_mb_increment'),
            diskGb: $fields->int('disk_gb'),
            maxTimeout: $fields->int('max_timeout'),
            perSandbox: $fields->object('per_sandbox', SandboxBounds::read(...)),
            networkClass: $fields->enum('network_class', NetworkClass::class),
            prices: $fields->object('prices', Prices::read(...)),
            quota: $fields->object('quota', Quota::read(...)),
            pausedMemory: $fields->object('paused_memory', LimitsPausedMemory::read(...)),
        );
    }
}
