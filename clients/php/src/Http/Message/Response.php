<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http\Message;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamInterface;

/** @internal */
final class Response extends Message implements ResponseInterface
{
    /** @param array<string, list<string>> $headers */
    public function __construct(private int $status, private string $reason, array $headers, StreamInterface $body)
    {
        parent::__construct($headers, $body);
    }

    public function getStatusCode(): int
    {
        return $this->status;
    }

    public function withStatus($code, $reasonPhrase = ''): static
    {
        $copy = clone $this;
        $copy->status = $code;
        $copy->reason = $reasonPhrase;
        return $copy;
    }

    public function getReasonPhrase(): string
    {
        return $this->reason;
    }
}
