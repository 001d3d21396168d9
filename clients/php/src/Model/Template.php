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
     * @param string $name `<team>/<slug>`: how any team names it that may use it.
     * @param bool $public Whether other teams may create sandboxes from this template, by its `name`.
     * @param int|null $latestVersion Newest runnable version.
     * @param int|null $sizeMb The storage of its newest runnable version on a host's disk; null: not measured.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $team,
        public readonly string $slug,
        public readonly string $name,
        public readonly bool $public,
        public readonly ?int $latestVersion,
        public readonly ?int $sizeMb,
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
            name: $fields->string('name'),
            public: $fields->bool('public'),
            latestVersion: $fields->intOrNull('latest_version'),
            sizeMb: $fields->intOrNull('size_mb'),
            createdAt: $fields->time('created_at'),
        );
    }
}
