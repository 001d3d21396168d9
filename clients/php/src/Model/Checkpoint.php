<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * A named copy of a sandbox's disk, and of its memory if that was wanted, from which new sandboxes can be made.
 * It outlives its sandbox.
 */
final class Checkpoint
{
    /**
     * @param string|null $sandboxName The present name of the sandbox; null if it has no name.
     * @param string $sandboxId The sandbox that it was made of, which may be gone.
     * @param string|null $parentId The checkpoint that its sandbox was made from or rolled back to before, which may
     *   be gone.
     * @param string $name Given again in the team, it makes the next version.
     * @param int $version Which of the team's checkpoints of this name, in the order in which they were begun; no
     *   number is given twice.
     * @param bool $memory Whether sandboxes that are made from it continue its processes.
     * @param int $sizeMb The storage that its disk takes in addition to its template.
     * @param \DateTimeImmutable|null $cleanupAt The time at which clean-up will delete the checkpoint, because it is
     *   older than the plan's `checkpoint_days`. The member is missing without such a warning.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $team,
        public readonly ?string $sandboxName,
        public readonly string $sandboxId,
        public readonly ?string $parentId,
        public readonly string $name,
        public readonly int $version,
        public readonly bool $memory,
        public readonly int $sizeMb,
        public readonly string $template,
        public readonly string $templateVersion,
        public readonly int $cpu,
        public readonly int $memoryMb,
        public readonly int $diskGb,
        public readonly \DateTimeImmutable $createdAt,
        public readonly ?\DateTimeImmutable $cleanupAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            team: $fields->string('team'),
            sandboxName: $fields->stringOrNull('sandbox_name'),
            sandboxId: $fields->string('sandbox_id'),
            parentId: $fields->stringOrNull('parent_id'),
            name: $fields->string('name'),
            version: $fields->int('version'),
            memory: $fields->bool('memory'),
            sizeMb: $fields->int('size_mb'),
            template: $fields->string('template'),
            templateVersion: $fields->string('template_version'),
            cpu: $fields->int('cpu'),
            memoryMb: $fields->int('memory_mb'),
            diskGb: $fields->int('disk_gb'),
            createdAt: $fields->time('created_at'),
            cleanupAt: $fields->timeOrNull('cleanup_at'),
        );
    }
}
