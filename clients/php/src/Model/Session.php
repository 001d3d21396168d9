<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Short-lived access to a sandbox's data plane. */
final class Session
{
    /**
     * @param string $accessToken Send it as `Authorization: Bearer` or `X-Access-Token` to the data plane, and as
     *   `X-Access-Token` to private previews.
     * @param \DateTimeImmutable|null $expiresAt null: it lives as long as the sandbox.
     */
    public function __construct(
        public readonly string $dataPlaneUrl,
        public readonly string $accessToken,
        public readonly ?\DateTimeImmutable $expiresAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            dataPlaneUrl: $fields->string('data_plane_url'),
            accessToken: $fields->string('access_token'),
            expiresAt: $fields->timeOrNull('expires_at'),
        );
    }
}
