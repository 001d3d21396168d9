<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Sandbox
{
    /**
     * @param string $id Identifier.
     * @param string $team Slug of the owning team.
     * @param string $template Slug of the template.
     * @param string $templateVersion The exact build.
     * @param string|null $snapshotId The checkpoint that it was made from or rolled back to.
     * @param string|null $forkedFrom The sandbox whose disk and memory it went on with at its fork.
     * @param int $timeout Seconds.
     * @param \DateTimeImmutable|null $deadline When the timeout policy applies; null while it is stopped.
     * @param \DateTimeImmutable|null $holdUntil Until then `lifecycle.idle_timeout` does not pause it; null without
     *   a hold.
     * @param array<string, string> $volumeMounts Guest path to volume name.
     * @param int $cpu vCPUs.
     * @param int $memoryMb MiB.
     * @param int $diskGb GiB of the root disk.
     * @param array<string, string> $metadata
     * @param list<ExposedPort> $exposedPorts
     * @param string $dataPlaneUrl Address of files and processes.
     * @param SandboxReason|null $reason Why it is stopped: it was paused on request, at its deadline or because it
     *   was idle (`lifecycle.idle_timeout`), or for a `move` to another host, where it resumes by itself; it `ended`
     *   from inside or with its host; its host ended its reboots; its host is lost. Null until its first stop, and
     *   while it runs.
     * @param ResumedFrom|null $resumedFrom The state from which the last resume really continued. A create sets
     *   `memory` when the sandbox continues with the memory of a checkpoint or a template version.
     * @param \DateTimeImmutable|null $silentSince Since when the agent of the sandbox has not answered: it is
     *   stopped or frozen, or has no processor time or memory. Known 60 s after its last answer at most. Calls of the
     *   data plane answer 502 `runtime_unavailable` meanwhile. Null while it answers, and while the sandbox is not
     *   `ready`.
     * @param string|null $name Its name, of no other sandbox of the team. null: none.
     * @param bool $exposeAllPorts Whether every port that is not reserved is exposed to everybody, without being
     *   listed.
     * @param string|null $maskRequestHost What servers in the sandbox see as Host instead of their preview's name: a
     *   host name, with or without a port, in which `${PORT}` stands for the port that is asked.
     * @param \DateTimeImmutable|null $cleanupAt The time at which clean-up will delete the stopped sandbox. It has
     *   been stopped for longer than the plan's `stopped_days`, or is the oldest of more than `stopped_sandboxes`. The
     *   member is missing without such a warning. A resume cancels the deletion.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $team,
        public readonly SandboxState $state,
        public readonly string $template,
        public readonly string $templateVersion,
        public readonly Isolation $isolation,
        public readonly ?string $snapshotId,
        public readonly ?string $forkedFrom,
        public readonly int $timeout,
        public readonly ?\DateTimeImmutable $deadline,
        public readonly ?\DateTimeImmutable $holdUntil,
        public readonly Lifecycle $lifecycle,
        public readonly array $volumeMounts,
        public readonly int $cpu,
        public readonly int $memoryMb,
        public readonly int $diskGb,
        public readonly array $metadata,
        public readonly Network $network,
        public readonly Hooks $hooks,
        public readonly array $exposedPorts,
        public readonly string $dataPlaneUrl,
        public readonly \DateTimeImmutable $createdAt,
        public readonly \DateTimeImmutable $updatedAt,
        public readonly ?\DateTimeImmutable $stoppedAt,
        public readonly ?SandboxReason $reason,
        public readonly ?ResumedFrom $resumedFrom,
        public readonly ?\DateTimeImmutable $silentSince,
        public readonly ?string $name,
        public readonly bool $exposeAllPorts,
        public readonly ?string $maskRequestHost,
        public readonly ?\DateTimeImmutable $cleanupAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            team: $fields->string('team'),
            state: $fields->enum('state', SandboxState::class),
            template: $fields->string('template'),
            templateVersion: $fields->string('template_version'),
            isolation: $fields->enum('isolation', Isolation::class),
            snapshotId: $fields->stringOrNull('snapshot_id'),
            forkedFrom: $fields->stringOrNull('forked_from'),
            timeout: $fields->int('timeout'),
            deadline: $fields->timeOrNull('deadline'),
            holdUntil: $fields->timeOrNull('hold_until'),
            lifecycle: $fields->object('lifecycle', Lifecycle::read(...)),
            volumeMounts: $fields->map('volume_mounts'),
            cpu: $fields->int('cpu'),
            memoryMb: $fields->int('memory_mb'),
            diskGb: $fields->int('disk_gb'),
            metadata: $fields->map('metadata'),
            network: $fields->object('network', Network::read(...)),
            hooks: $fields->object('hooks', Hooks::read(...)),
            exposedPorts: $fields->objects('exposed_ports', ExposedPort::read(...)),
            dataPlaneUrl: $fields->string('data_plane_url'),
            createdAt: $fields->time('created_at'),
            updatedAt: $fields->time('updated_at'),
            stoppedAt: $fields->timeOrNull('stopped_at'),
            reason: $fields->enumOrNull('reason', SandboxReason::class),
            resumedFrom: $fields->enumOrNull('resumed_from', ResumedFrom::class),
            silentSince: $fields->timeOrNull('silent_since'),
            name: $fields->stringOrNull('name'),
            exposeAllPorts: $fields->bool('expose_all_ports'),
            maskRequestHost: $fields->stringOrNull('mask_request_host'),
            cleanupAt: $fields->timeOrNull('cleanup_at'),
        );
    }
}
