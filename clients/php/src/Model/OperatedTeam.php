<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class OperatedTeam
{
    /** @param int $sandboxes Running ones. */
    public function __construct(
        public readonly string $slug,
        public readonly string $plan,
        public readonly int $members,
        public readonly int $sandboxes,
        public readonly int $stoppedSandboxes,
        public readonly \DateTimeImmutable $createdAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            slug: $fields->string('slug'),
            plan: $fields->string('plan'),
            members: $fields->int('members'),
            sandboxes: $fields->int('sandboxes'),
            stoppedSandboxes: $fields->int('stopped_sandboxes'),
            createdAt: $fields->time('created_at'),
        );
    }
}
