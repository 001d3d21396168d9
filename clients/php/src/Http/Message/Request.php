<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http\Message;

use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\UriInterface;

/** @internal */
final class Request extends Message implements RequestInterface
{
    private ?string $target = null;

    public function __construct(private string $method, private UriInterface $uri)
    {
        parent::__construct(['Host' => self::hostOf($uri)], ResourceStream::of(''));
    }

    public function getRequestTarget(): string
    {
        $query = $this->uri->getQuery();
        return $this->target ?? ($this->uri->getPath() ?: '/') . ($query === '' ? '' : "?{$query}");
    }

    public function withRequestTarget($requestTarget): static
    {
        $copy = clone $this;
        $copy->target = $requestTarget;
        return $copy;
    }

    public function getMethod(): string
    {
        return $this->method;
    }

    public function withMethod($method): static
    {
        $copy = clone $this;
        $copy->method = $method;
        return $copy;
    }

    public function getUri(): UriInterface
    {
        return $this->uri;
    }

    public function withUri(UriInterface $uri, $preserveHost = false): static
    {
        $copy = $preserveHost && $this->hasHeader('Host') ? clone $this : $this->withHeader('Host', self::hostOf($uri));
        $copy->uri = $uri;
        return $copy;
    }

    private static function hostOf(UriInterface $uri): string
    {
        return $uri->getHost() . ($uri->getPort() === null ? '' : ":{$uri->getPort()}");
    }
}
