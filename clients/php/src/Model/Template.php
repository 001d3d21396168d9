<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Template
{
    /**
     * @param string $team Slug of the owning team; `deployment`: it belongs to the deployment, and every team may
     *   use it.
     * @param int|null $latestVersion Newest runnable version.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $team,
        public readonly string $slug,
        public readonly ?int $latestVersion,
        public readonly \DateTimeImmutable $createdAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            team: $fields->string('team'),
            slug: $fields->string('slug'),
            latestVersion: $fields->intOrNull('latest_version'),
            createdAt: $fields->time('created_at'),
        );
    }
}
